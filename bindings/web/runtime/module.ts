// Loads mlc_llm.wasm, gives it what it imports, and takes the turns of its engines.

import type {
  ByteSource,
  Core,
  CoreEngine,
  CoreEvent,
  CoreOptions,
  GpuCounters,
  GpuHandle,
  LogitFunction,
} from "./core.ts";
import {
  checkStatus,
  type CoreCalls,
  type CoreExports,
  takeText,
  toEvent,
  WasmEngine,
} from "./engine.ts";
import { CoreError, errorOf } from "./errors.ts";
import { type BrowserFeatures, browserFeatures } from "./features.ts";
import { FileTable } from "./files.ts";
import { Libraries, type LinkTarget } from "./library.ts";
import { CoreMemory } from "./memory.ts";
import { pageImports, type PageState } from "./page.ts";
import { systemImports } from "./system.ts";
import { GpuCommands } from "./webgpu.ts";

interface Jspi {
  promising?: (call: CallableFunction) => (...values: number[]) => Promise<number>;
}

interface Scheduler {
  postTask?: (act: () => void) => Promise<void>;
}

/**
 * Lets other work run: what waits already comes first. `scheduler.yield` would not do: it goes on
 * before the messages that wait, so a worker would hear of no request and no abort until it is idle.
 */
function nextTask(): Promise<void> {
  const { scheduler } = globalThis as { scheduler?: Scheduler };
  return scheduler?.postTask?.(() => {}) ?? new Promise((go) => setTimeout(go, 0));
}

class WasmCore implements Core, CoreCalls, PageState {
  readonly files = new FileTable();
  readonly counters: GpuCounters = {
    reads: 0,
    readBytes: 0,
    submits: 0,
    launches: 0,
    pipelines: 0,
  };
  onProgress: ((fraction: number, what: string) => boolean | void) | null = null;
  gpu: GpuCommands | null;
  memory!: CoreMemory;
  libraries!: Libraries;
  exports!: CoreExports;
  private readonly streams = new Map<number, (event: CoreEvent) => void>();
  private readonly processors = new Map<number, LogitFunction>();
  private problem = 0; // the address of what the last processor said that failed
  private nextUser = 1;
  private last: Promise<unknown> = Promise.resolve();
  private wanted = false;
  private running: Promise<void> | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private broken: CoreError | null = null;

  constructor(private readonly options: CoreOptions, readonly features: BrowserFeatures) {
    this.gpu = options.gpu ? new GpuCommands(options.gpu, this.counters) : null;
  }

  async start(): Promise<void> {
    const { wasm } = this.options;
    const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
    const system = systemImports(() => this.memory, this.options.log ?? console.error);
    const imports = { mlc: pageImports(this), ...system };
    const { exports } = await WebAssembly.instantiate(module, imports);
    this.exports = exports as unknown as CoreExports;
    this.memory = new CoreMemory(exports as unknown as LinkTarget);
    this.libraries = new Libraries(exports as unknown as LinkTarget & WebAssembly.Exports);
    this.exports.__wasm_call_ctors();
  }

  get abiVersion(): number {
    return this.exports.mlc_abi_version();
  }
  get schemaHash(): string {
    return this.memory.cText(this.exports.mlc_schema_hash());
  }
  get version(): string {
    return this.memory.cText(this.exports.mlc_version());
  }

  createEngine(config: unknown): CoreEngine {
    return new WasmEngine(this, config);
  }
  mount(folder: string, source: ByteSource): void {
    this.files.mount(folder, source);
  }
  unmount(folder: string): void {
    this.files.unmount(folder);
  }
  writeFile(path: string, bytes: Uint8Array): void {
    this.files.write(path, bytes);
  }
  readFile(path: string): Uint8Array | undefined {
    return this.files.get(path);
  }
  removeFile(path: string): void {
    this.files.remove(path);
  }

  listDevices(): unknown[] {
    return this.memory.with([4], (out) => {
      checkStatus(this, this.exports.mlc_list_devices(out));
      return JSON.parse(takeText(this, out));
    });
  }
  chooseDevice(device: string): unknown {
    return this.memory.with([device, 4], (name, out) => {
      checkStatus(this, this.exports.mlc_choose_device(name, out));
      return JSON.parse(takeText(this, out));
    });
  }
  setGpu(gpu: GpuHandle | null): void {
    this.gpu = gpu ? new GpuCommands(gpu, this.counters) : null;
  }
  heapBytes(): number {
    return this.memory.exports.memory.buffer.byteLength;
  }
  gpuCounters(): GpuCounters {
    return { ...this.counters };
  }

  async turn(): Promise<boolean> {
    return await this.takeTurn() === 0;
  }
  async idle(): Promise<void> {
    while (this.running) await this.running;
  }

  // ---- For engines ----

  exclusive<T>(act: () => T | Promise<T>): Promise<T> {
    const mine = this.last.then(() => {
      this.checkAlive();
      return act();
    });
    this.last = mine.catch(() => {});
    return mine;
  }

  async suspending(name: string, ...values: number[]): Promise<number> {
    const call = this.exports[name];
    const { promising } = WebAssembly as unknown as Jspi;
    try {
      const result = await (promising ? promising(call)(...values) : call(...values));
      await this.gpu?.ready();
      return result;
    } catch (error) {
      throw this.fail(error);
    }
  }

  checkAlive(): void {
    if (this.broken) throw this.broken;
  }

  addStream(onEvent: (event: CoreEvent) => void): number {
    const user = this.nextUser++;
    this.streams.set(user, onEvent);
    return user;
  }
  removeStream(user: number): void {
    this.streams.delete(user);
  }
  addProcessor(act: LogitFunction): number {
    const user = this.nextUser++;
    this.processors.set(user, act);
    return user;
  }

  wake(): void {
    if (this.options.manual) return;
    this.wanted = true;
    this.running ??= this.run();
  }

  // ---- For the page's imports ----

  event(user: number, kind: number, json: string): void {
    this.deliver(user, toEvent(kind, json));
  }

  logits(user: number, tokens: Int32Array, numPrompt: number, logits: Float32Array): number {
    try {
      const act = this.processors.get(user)!;
      const prompt = tokens.subarray(0, numPrompt), answer = tokens.subarray(numPrompt);
      const made = act(prompt, answer, logits.slice());
      if (made?.length !== logits.length) throw new RangeError("it gave another number of logits");
      logits.set(made);
      return 0;
    } catch (error) {
      this.exports.free(this.problem);
      return this.problem = this.memory.copyText(`threw an exception: ${error}`);
    }
  }

  private deliver(user: number, event: CoreEvent): void {
    const onEvent = this.streams.get(user);
    if (event.kind !== "chunk") this.streams.delete(user);
    try {
      onEvent?.(event);
    } catch (error) {
      console.error("mlc_llm: a callback threw an exception; it was ignored", error);
    }
  }

  // ---- Turns ----

  private takeTurn(): Promise<number> {
    return this.exclusive(() => this.suspending("mlc_web_turn"));
  }

  private async run(): Promise<void> {
    clearTimeout(this.timer);
    await nextTask(); // requests that are made together begin together
    while (this.wanted) {
      this.wanted = false;
      const waitMs = await this.takeTurn().catch(() => -1); // every stream has the error
      if (waitMs === 0) {
        this.wanted = true;
        await nextTask();
      } else if (waitMs > 0) {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.wake(), waitMs);
      }
    }
    this.running = null;
  }

  /** A trap of the core: every request ends, and nothing more can be called. */
  private fail(error: unknown): CoreError {
    if (error instanceof CoreError) return error;
    this.broken = errorOf("engine_failed", `the engine failed (${error}); load it again`);
    const body = this.broken.body;
    for (const user of [...this.streams.keys()]) this.deliver(user, { kind: "error", error: body });
    return this.broken;
  }
}

export async function loadCore(options: CoreOptions): Promise<Core> {
  const core = new WasmCore(options, await browserFeatures());
  await core.start();
  return core;
}
