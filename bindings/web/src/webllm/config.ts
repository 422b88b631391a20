/** WebLLM's configuration objects. */

import {
  asMLCError,
  CorruptFileError,
  DownloadError,
  InvalidRequestError,
  NotFoundError,
  UnsupportedError,
} from "../errors.ts";
import type { LogitProcessorRegistry } from "../host/logit_processors.ts";
import type { CacheBackend, InitProgressReport, ModelRecord } from "../host/host.ts";
import type { EngineConfig } from "../protocol/types.gen.ts";

export type { InitProgressReport, ModelRecord };
export type InitProgressCallback = (report: InitProgressReport) => void;

/** The models that an app knows. */
export interface AppConfig {
  model_list: ModelRecord[];
  /** Where downloaded files are kept. Default: `cache`. */
  cacheBackend?: CacheBackend;
}

/** Members in place of those of a model's own config, such as `context_window_size`. */
export interface ChatOptions {
  context_window_size?: number;
  sliding_window_size?: number;
  attention_sink_size?: number;
  temperature?: number;
  top_p?: number;
  repetition_penalty?: number;
  frequency_penalty?: number;
  presence_penalty?: number;
  [member: string]: unknown;
}

export interface MLCEngineConfig {
  appConfig?: AppConfig;
  initProgressCallback?: InitProgressCallback;
  /** The engine's own configuration, such as `max_num_sequence`. */
  engineConfig?: EngineConfig;
  /** The URL of `mlc_llm.wasm`. Default: beside this package's files. */
  wasm?: string;
  /** Functions on the logits of models, by their ids. */
  logitProcessorRegistry?: LogitProcessorRegistry;
  logLevel?: string;
}

/**
 * There are no prebuilt models: WebLLM's libraries are made for another engine. Make a folder with
 * `mlc_llm package --device web` and give its `mlc-app-config.json` as `appConfig`.
 */
export const prebuiltAppConfig: AppConfig = { model_list: [] };

/** Reads a packaged folder's `mlc-app-config.json`; its addresses are relative to the file. */
export async function fetchAppConfig(url: string): Promise<AppConfig> {
  let file: URL;
  try {
    file = new URL(url, globalThis.location?.href);
  } catch (cause) {
    throw new InvalidRequestError(`'${url}' is no address`, { param: "url", cause });
  }
  // a new version's checksums are in it
  const failed = (cause: unknown): never => {
    throw new DownloadError(`${file}: ${asMLCError(cause).message}`, { param: "url", cause });
  };
  const response = await fetch(file, { cache: "no-cache" }).catch(failed);
  if (!response.ok) {
    await response.body?.cancel();
    throw new NotFoundError(`${file}: the server answered ${response.status}`, { param: "url" });
  }
  const absolute = (record: ModelRecord): ModelRecord => ({
    ...record,
    model: new URL(record.model, file).href,
    ...(record.model_lib ? { model_lib: new URL(record.model_lib, file).href } : {}),
    ...(record.model_lib_cpu ? { model_lib_cpu: new URL(record.model_lib_cpu, file).href } : {}),
    ...(record.manifest ? { manifest: new URL(record.manifest, file).href } : {}),
  });
  const text = await response.text().catch(failed);
  try {
    const config = JSON.parse(text) as AppConfig;
    return { ...config, model_list: config.model_list.map(absolute) };
  } catch (cause) { // as of a server that answers every address with its page
    const message = `${file} is no config of \`mlc_llm package\`: ${asMLCError(cause).message}`;
    throw new CorruptFileError(message, { param: "url", cause });
  }
}

export function findModel(config: AppConfig, id: string): ModelRecord {
  const { cacheBackend, model_list } = config;
  if (cacheBackend && !["cache", "opfs", "memory"].includes(cacheBackend)) {
    throw new UnsupportedError(
      `cacheBackend: ${cacheBackend} is not supported; use "cache", "opfs" or "memory"`,
      { param: "cacheBackend" },
    );
  }
  const found = model_list.find((record) => record.model_id === id);
  if (found) return found;
  const names = model_list.map((record) => record.model_id).join(", ") || "none";
  throw new NotFoundError(
    `${id} is not in appConfig.model_list, which has: ${names}; make its folder with ` +
      "`mlc_llm package --device web`",
    { param: "model_id" },
  );
}

export function defaultWasm(): string {
  return new URL("../../mlc_llm.wasm", import.meta.url).href;
}
