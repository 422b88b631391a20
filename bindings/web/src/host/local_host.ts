/** Loads models into the core in this thread. */

import type * as core from "../../runtime/core.ts";
import { browserFeatures, refusal } from "../../runtime/features.ts";
import { CacheStore } from "../cache/cache_store.ts";
import { alone, ensureFile } from "../cache/download.ts";
import { type FileStore, MemoryStore } from "../cache/file_store.ts";
import { LIBRARY, ModelFiles, type ModelPlace } from "../cache/model_files.ts";
import { OpfsStore } from "../cache/opfs_store.ts";
import { megabytes, type StorageEstimator } from "../cache/quota.ts";
import type { Backend } from "../engine/backend.ts";
import { asMLCError, InvalidRequestError, UnsupportedError } from "../errors.ts";
import { SCHEMA_HASH } from "../protocol/types.gen.ts";
import { CoreBackend, fromCore } from "./core_backend.ts";
import type { LogitProcessorRegistry } from "./logit_processors.ts";
import { SavedStates } from "./saved_states.ts";
import {
  type CacheBackend,
  choose,
  type Host,
  type HostInfo,
  type InitProgressReport,
  type LoadRequest,
  type ModelLoad,
  onCpu,
} from "./host.ts";

/** How the core comes here; tests give another one. */
export interface Runtime {
  readonly loadCore: typeof core.loadCore;
  readonly openGpu?: typeof core.openGpu;
  readonly features?: typeof browserFeatures;
  readonly fetch?: typeof fetch;
  readonly storage?: StorageEstimator;
  readonly stores?: Partial<Record<CacheBackend, FileStore>>;
}

type Report = (report: InitProgressReport) => void;

interface Loaded {
  readonly key: string;
  readonly backend: CoreBackend;
}

export class LocalHost implements Host {
  private core: core.Core | undefined;
  private gpu: core.GpuHandle | undefined;
  private readonly loaded = new Map<string, Loaded>();
  private readonly stores = new Map<CacheBackend, FileStore>();
  private last: Promise<unknown> = Promise.resolve();
  private processors: LogitProcessorRegistry = new Map();

  constructor(private readonly runtime: Runtime) {}

  load(request: LoadRequest, onProgress: Report): Promise<void> {
    return this.inTurn(async () => {
      const models: ModelLoad[] = [];
      for (const model of request.models) models.push(await this.fitting(model));
      const wanted = new Map(models.map((m) => [m.record.model_id, keyOf(m)]));
      for (const [id, { key }] of [...this.loaded]) {
        if (wanted.get(id) !== key) await this.drop(id);
      }
      const progress = new Progress(onProgress, models.length);
      for (const model of models) {
        if (!this.loaded.has(model.record.model_id)) await this.add(model, request, progress);
        progress.nextModel();
      }
      progress.finish();
    });
  }

  setLogitProcessors(registry: LogitProcessorRegistry): void {
    this.processors = registry;
    for (const [id, { backend }] of this.loaded) backend.setLogitProcessor(registry.get(id));
  }

  backend(model: string | null): Backend {
    return choose(this.loaded, model).backend;
  }

  unload(): Promise<void> {
    return this.inTurn(async () => {
      for (const id of [...this.loaded.keys()]) await this.drop(id);
    });
  }

  async info(): Promise<HostInfo> {
    const { maxBufferBytes = 0 } = await browserFeatures();
    return { device: this.gpu?.description ?? "", maxStorageBufferBytes: maxBufferBytes };
  }

  store(backend: CacheBackend): FileStore {
    const known = this.runtime.stores?.[backend] ?? this.stores.get(backend);
    const store = known ?? openStore(backend);
    this.stores.set(backend, store);
    return store;
  }

  /** Where saved states of conversations are kept: the site's own files, where it has them. */
  states(backend: CacheBackend): FileStore {
    const hasFiles = typeof globalThis.navigator?.storage?.getDirectory === "function";
    return this.store(this.runtime.stores?.opfs || hasFiles ? "opfs" : backend);
  }

  /** One load or unload after the other. */
  private async inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.last.then(work, work);
    this.last = turn.catch(() => {});
    await turn;
  }

  /** The model as this browser can run it. Throws before any download when it cannot. */
  private async fitting(model: ModelLoad): Promise<ModelLoad> {
    const { record } = model, device = deviceOf(record);
    if (device !== "fake" && !record.model_lib) {
      throw new InvalidRequestError(
        `model_list: ${record.model_id} has no model_lib: the URL of a library made by ` +
          "`mlc_llm compile --device webgpu --host wasm32`",
        { param: "model_lib" },
      );
    }
    if (device !== "webgpu") return model; // the others need nothing that a browser may lack
    const needsF16 = record.required_features?.includes("shader-f16") ?? false;
    const why = refusal(await (this.runtime.features ?? browserFeatures)(), device, needsF16);
    if (!why) return model;
    const other = onCpu(record);
    if (!other) throw fromCore(why);
    return { ...model, record: other };
  }

  private async add(model: ModelLoad, request: LoadRequest, progress: Progress): Promise<void> {
    const { record } = model, store = this.store(request.cacheBackend);
    const files = await this.filesOf(record, store, progress);
    const core = await this.openCore(request.wasm, store, deviceOf(record) === "webgpu");
    const folder = `/models/${record.model_id.replaceAll(/[^\w.-]/g, "_")}`;
    const config = JSON.parse(await files.text("mlc-chat-config.json"));
    const changed = { ...config, ...record.overrides, ...model.overrides };
    const replaced = { "mlc-chat-config.json": encodeJson(changed) };
    core.mount(folder, await files.source(replaced, !core.features.jspi));
    const engine = core.createEngine(model.engineConfig);
    try {
      await this.fill(engine, record, folder, progress);
    } catch (error) {
      await engine.destroy();
      throw fromCore(error);
    } finally {
      core.unmount(folder);
    }
    const states = new SavedStates(core, this.states(request.cacheBackend));
    const backend = new CoreBackend(engine, states);
    const processor = this.processors.get(record.model_id);
    if (processor) backend.setLogitProcessor(processor);
    this.loaded.set(record.model_id, { key: keyOf(model), backend });
  }

  private filesOf(
    record: ModelLoad["record"],
    store: FileStore,
    progress: Progress,
  ): Promise<ModelFiles> {
    const fetching = this.runtime.fetch ? { fetch: this.runtime.fetch } : {};
    if (record.files) {
      const { files, model_lib, integrity } = record;
      const options = { ...fetching, integrity: integrity?.model_lib };
      return ModelFiles.ofChosen(store, files, model_lib, options);
    }
    return ModelFiles.load(store, placeOf(record), {
      ...fetching,
      storage: this.runtime.storage ?? globalThis.navigator?.storage,
      onProgress: (loaded, total) => progress.download(record.model_id, loaded, total),
    });
  }

  private async fill(
    engine: core.CoreEngine,
    record: ModelLoad["record"],
    folder: string,
    progress: Progress,
  ): Promise<void> {
    await engine.load(
      {
        model: folder,
        device: deviceOf(record),
        name: record.model_id,
        ...(record.model_lib ? { model_lib: `${folder}/${LIBRARY}` } : {}),
      },
      (fraction) => progress.device(record.model_id, fraction),
    );
  }

  private async openCore(wasm: string, store: FileStore, needsGpu: boolean): Promise<core.Core> {
    if (needsGpu && !this.gpu) this.gpu = await this.runtime.openGpu?.().catch(asOurs);
    if (this.core) return this.core;
    const bytes = await this.wasmBytes(wasm, store);
    this.core = await this.runtime.loadCore({ wasm: bytes, gpu: this.gpu ?? null }).catch(asOurs);
    if (this.core.schemaHash !== SCHEMA_HASH) {
      this.core = undefined;
      await store.remove(wasm);
      throw new UnsupportedError(
        `${wasm} speaks another version of the protocol than this package; use the two of one ` +
          "release, and reload the page",
        { param: "wasm" },
      );
    }
    return this.core;
  }

  private async wasmBytes(url: string, store: FileStore): Promise<Uint8Array<ArrayBuffer>> {
    const { fetch } = this.runtime;
    await alone(url, () => ensureFile(store, { url }, fetch ? { fetch } : {}));
    const size = (await store.stat(url))?.size ?? 0;
    return (await store.read(url, 0, size)).slice();
  }

  private async drop(id: string): Promise<void> {
    const { backend } = choose(this.loaded, id);
    this.loaded.delete(id);
    await backend.close();
  }
}

function asOurs(error: unknown): never {
  throw fromCore(error);
}

/** Two loads with the same key are the same: chosen files by their names, sizes and dates. */
function keyOf(model: ModelLoad): string {
  const plain = (_: string, value: unknown) =>
    value instanceof File ? [value.name, value.size, value.lastModified] : value;
  return JSON.stringify(model, plain);
}

function deviceOf(record: ModelLoad["record"]): string {
  return record.device ?? "webgpu";
}

function encodeJson(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function openStore(backend: CacheBackend): FileStore {
  if (backend === "memory") return new MemoryStore();
  if (backend === "opfs") return new OpfsStore();
  if (globalThis.caches) return new CacheStore();
  throw new UnsupportedError(
    "this page has no Cache API, which only https and localhost give; serve it so, or use " +
      'cacheBackend "memory"',
    { param: "cacheBackend" },
  );
}

const HUB = "https://huggingface.co/";

/** Where a record's files are; a repository of the hub may be named by its page. */
export function placeOf(record: ModelLoad["record"]): ModelPlace {
  const base = globalThis.location?.href;
  const absolute = (url: string, param: string) => {
    try {
      return new URL(url, base).href;
    } catch (error) {
      const why = asMLCError(error).message;
      throw new InvalidRequestError(`${param}: ${url} is no URL: ${why}`, { param });
    }
  };
  let folder = absolute(record.model, "model");
  if (!folder.endsWith("/")) folder += "/";
  if (folder.startsWith(HUB) && !folder.includes("/resolve/")) folder += "resolve/main/";
  return {
    folder,
    library: record.model_lib ? absolute(record.model_lib, "model_lib") : undefined,
    manifest: record.manifest,
    manifestIntegrity: record.manifest_integrity,
    integrity: record.integrity,
  };
}

/** Reports of several models as one: downloads are four fifths of each. */
class Progress {
  private readonly begin = performance.now();
  private done = 0;

  constructor(private readonly listen: Report, private readonly numModels: number) {}

  download(name: string, loaded: number, total: number): void {
    const fraction = total > 0 ? loaded / total : 0;
    const amount = `${megabytes(loaded)} of ${megabytes(total)}`;
    this.tell(0.8 * fraction, `Downloading ${name}: ${amount}`);
  }

  device(name: string, fraction: number): void {
    this.tell(0.8 + 0.2 * fraction, `Loading ${name}: ${Math.round(fraction * 100)} %`);
  }

  nextModel(): void {
    this.done += 1;
  }

  finish(): void {
    this.tell(0, "Loaded");
  }

  private tell(fraction: number, text: string): void {
    const progress = this.numModels ? Math.min((this.done + fraction) / this.numModels, 1) : 1;
    this.listen({ progress, timeElapsed: (performance.now() - this.begin) / 1000, text });
  }
}
