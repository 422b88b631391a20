/** Where models are loaded: in this thread, or in a worker. */

import type { Backend } from "../engine/backend.ts";
import { InvalidRequestError, UnavailableError } from "../errors.ts";
import type { LogitProcessorRegistry } from "./logit_processors.ts";
import type { ModelIntegrity } from "../cache/model_files.ts";

/** A progress report; `progress` goes from 0 to 1, `timeElapsed` is in seconds. */
export interface InitProgressReport {
  progress: number;
  timeElapsed: number;
  text: string;
}

/** Where downloaded files are kept. */
export type CacheBackend = "cache" | "opfs" | "memory";

/** A model and where its files are. */
export interface ModelRecord {
  /** The URL of the folder with the weights, the tokenizer and the config. */
  model: string;
  model_id: string;
  /** The URL of the compiled library (`.wasm`), or its name among `files`. Not for `fake`. */
  model_lib?: string;
  /**
   * The URL of a library of wasm SIMD kernels, in place of `model_lib` where the browser cannot run
   * that on WebGPU. `mlc_llm package` makes both.
   */
  model_lib_cpu?: string;
  /**
   * The files of a folder that the user chose (`<input type="file" webkitdirectory>`), in place of
   * those at `model`. They are read where they are; nothing is downloaded or kept.
   */
  files?: readonly File[];
  /** Members in place of those of the model's own config, such as `context_window_size`. */
  overrides?: Record<string, unknown>;
  /** The longest conversation in tokens, for a page that shows it. */
  context_window_size?: number;
  vram_required_MB?: number;
  low_resource_required?: boolean;
  buffer_size_required_bytes?: number;
  /** WebGPU features that the library needs, such as `shader-f16`. */
  required_features?: string[];
  /** WebLLM's number for the kind of model; not read here. */
  model_type?: number;
  /** Checksums (`sha256-...`), as WebLLM has them; `weights` are ours. */
  integrity?: ModelIntegrity;
  /** `webgpu` (the default), `cpu` or `fake`. */
  device?: string;
  /** The name of the list of files with sizes and checksums, which `mlc_llm package` writes. */
  manifest?: string;
  manifest_integrity?: string;
}

/** The record for a browser that cannot run it on WebGPU; undefined: it has no library for that. */
export function onCpu(record: ModelRecord): ModelRecord | undefined {
  const { model_lib_cpu, integrity, ...rest } = record;
  if (model_lib_cpu === undefined) return undefined;
  const own = integrity && { integrity: { ...integrity, model_lib: integrity.model_lib_cpu } };
  return { ...rest, ...own, model_lib: model_lib_cpu, device: "cpu" } as ModelRecord;
}

/** What is loaded; plain data, which can be sent to a worker. */
export interface LoadRequest {
  readonly models: readonly ModelLoad[];
  readonly cacheBackend: CacheBackend;
  /** The URL of `mlc_llm.wasm`. */
  readonly wasm: string;
}

export interface ModelLoad {
  readonly record: ModelRecord;
  /** In place of members of the model's config; wins over the record's. */
  readonly overrides: Record<string, unknown>;
  /** The engine's configuration: `EngineConfig` of the protocol. */
  readonly engineConfig: object;
}

/** What a browser's device says of itself. */
export interface HostInfo {
  readonly device: string;
  readonly maxStorageBufferBytes: number;
}

export interface Host {
  /** Loads these models in place of all others. What is loaded already stays. */
  load(request: LoadRequest, onProgress: (report: InitProgressReport) => void): Promise<void>;
  /** The backend of a loaded model; null: of the only one. Throws when there is none. */
  backend(model: string | null): Backend;
  unload(): Promise<void>;
  /** Changes the logits of models, by their ids, from the next request on. */
  setLogitProcessors(registry: LogitProcessorRegistry): void;
  info(): Promise<HostInfo>;
}

/** The loaded model that a request means. */
export function choose<T>(loaded: ReadonlyMap<string, T>, model: string | null): T {
  const [only, ...others] = loaded.values();
  if (only === undefined) {
    throw new UnavailableError("no model is loaded; call reload(model_id) first", {
      code: "model_not_loaded",
    });
  }
  const found = model === null && others.length === 0 ? only : loaded.get(model ?? "");
  if (found !== undefined) return found;
  const names = [...loaded.keys()].join(", ");
  throw new InvalidRequestError(
    model === null
      ? `several models are loaded; name one of them by \`model\`: ${names}`
      : `the model ${model} is not loaded; there are: ${names}`,
    { param: "model" },
  );
}
