// The engine's core as WebAssembly: what the SDK (bindings/web/src) programs against.
//
//   const core = await loadCore({ wasm: await (await fetch("mlc_llm.wasm")).arrayBuffer() });
//   core.mount("/models/tiny", memorySource(files));       // name -> bytes
//   const engine = core.createEngine({ mode: "interactive" });
//   await engine.load({ model: "/models/tiny", device: "fake" });
//   const id = engine.submit("chat.completions", request, (event) => ...);
//
// The messages are the JSON of the C interface (core/include/mlc_llm.h), and the routes are its
// routes. A refusal is a CoreError with the members of the core's error JSON. There are no threads:
// the engine works in turns. Without `manual`, the core takes turns by itself while there is work.
// A call that returns a promise waits for the one before it; the others may come at any time, also
// during a turn, and inside an event's callback.

import type { ErrorBody } from "./errors.ts";
import type { BrowserFeatures } from "./features.ts";

/** Where the files of a mounted folder come from: memory, a cache, ranges of a network file. */
export interface ByteSource {
  /** The bytes of a file by its path inside the folder; undefined: there is no such file. */
  size(name: string): number | undefined;
  /**
   * `length` bytes at `offset`. Bytes at once where they are in memory. A promise suspends the call
   * that reads (load, plan, a turn), which needs JSPI.
   */
  read(name: string, offset: number, length: number): Uint8Array | Promise<Uint8Array>;
}

export interface CoreOptions {
  /** mlc_llm.wasm: its bytes, or a compiled module (which several cores may share). */
  wasm: BufferSource | WebAssembly.Module;
  /** The device of `"device": "webgpu"`, from openGpu(). None: only "cpu" and "fake". */
  gpu?: GpuHandle | null;
  /** True: no turn is taken unless `turn` is called. */
  manual?: boolean;
  /** Lines that the core writes to its error output. */
  log?: (line: string) => void;
}

/** An opened GPU and what the core must know about it (webgpu.ts). */
export interface GpuHandle {
  readonly device: unknown; // a GPUDevice; TypeScript's own library does not declare it
  readonly description: string;
  readonly f16: boolean;
  /** How much the core may allocate: browsers do not tell how much there is. */
  readonly memoryBytes: number;
  /** Resolves when the device is lost, with the browser's reason. */
  readonly lost: Promise<string>;
}

/** Gets the ids of the prompt and of the answer so far, and a copy of the logits; returns the new. */
export type LogitFunction = (
  prompt: Int32Array,
  answer: Int32Array,
  logits: Float32Array,
) => Float32Array;

/** The kinds of events: mlc_event_kind. The last event is exactly one RESULT, DONE or ERROR. */
export type CoreEvent =
  | { kind: "chunk" | "result"; json: string } // one chunk of a stream; a whole answer
  | { kind: "done" } // the stream is complete
  | { kind: "error"; error: ErrorBody };

/** `model_json` of mlc_engine_load. Paths are those of mounted folders. */
export interface ModelSpec {
  model: string;
  /** The compiled library: a path of a mounted `.wasm`. Not for the device "fake". */
  model_lib?: string;
  /** "webgpu", "cpu" (kernels of wasm SIMD), "fake". */
  device: string;
  name?: string;
  draft?: { model: string; model_lib: string };
}

export interface CoreEngine {
  /** `onProgress` gets 0..1 and the work; if it returns false, the load is cancelled. */
  load(
    model: ModelSpec,
    onProgress?: (fraction: number, what: string) => boolean | void,
  ): Promise<void>;
  /** A Plan (codegen/schema): what `load` of the same spec would allocate. */
  plan(model: ModelSpec): Promise<unknown>;
  unload(): Promise<void>;
  /** Aborts every request, clears caches and metrics. */
  reset(): Promise<void>;
  /** Unloads, then frees the engine. Nothing of it may be used afterwards. */
  destroy(): Promise<void>;
  /**
   * Queues a request of a route and returns its id. A wrong request is refused here by a CoreError,
   * with no event. `request`: an object, or its JSON. `buffers`: "buffer:0", ... of the request.
   */
  submit(
    route: string,
    request: unknown,
    onEvent: (event: CoreEvent) => void,
    buffers?: readonly Uint8Array[],
  ): number;
  /**
   * For the requests with "logit_processor": `name`; null removes it. All requests wait while it
   * runs. One that throws ends its request with an error of code "logit_processor_failed".
   */
  setLogitProcessor(name: string, act: LogitFunction | null): void;
  /** Ends the request with an error of code "request_cancelled". Unknown ids are ignored. */
  abort(requestId: number): void;
  pauseRequest(requestId: number): void;
  resumeRequest(requestId: number): void;
  pause(): void;
  resume(): void;
  trimMemory(): void;
  /** The counters, with the names of MLC-LLM's /metrics. */
  metrics(): Record<string, unknown>;
}

export interface Core {
  readonly abiVersion: number;
  readonly schemaHash: string;
  readonly version: string;
  readonly features: BrowserFeatures;
  createEngine(config: unknown): CoreEngine;
  /** Makes the files of `source` readable under `folder` ("/models/x"), which must be absolute. */
  mount(folder: string, source: ByteSource): void;
  unmount(folder: string): void;
  /**
   * Files in memory, beside the mounted ones. "kv.save" with `path` writes one, which readFile then
   * gives; before "kv.load" writeFile puts one there.
   */
  writeFile(path: string, bytes: Uint8Array): void;
  readFile(path: string): Uint8Array | undefined;
  removeFile(path: string): void;
  /** Probes of all devices, as mlc_list_devices; of one, as mlc_choose_device. */
  listDevices(): unknown[];
  chooseDevice(device: string): unknown;
  /** One turn of all engines: their commands, one step each, their events. True: there is more. */
  turn(): Promise<boolean>;
  /** Resolves when no engine has work. */
  idle(): Promise<void>;
  /**
   * After the GPU was lost: engines end their requests with the code "device_lost"; give another
   * GPU, then load again.
   */
  setGpu(gpu: GpuHandle | null): void;
  /** The bytes of wasm memory, which only grows. */
  heapBytes(): number;
  /** Counters of the GPU: reads, bytes read, submissions, launches, pipelines; zeros without one. */
  gpuCounters(): GpuCounters;
}

export interface GpuCounters {
  reads: number;
  readBytes: number;
  submits: number;
  launches: number;
  pipelines: number;
}

export { CoreError, type ErrorBody } from "./errors.ts";
export { type BrowserFeatures, browserFeatures, refusal } from "./features.ts";
export { memorySource } from "./files.ts";
export { loadCore } from "./module.ts";
export { openGpu } from "./webgpu.ts";
