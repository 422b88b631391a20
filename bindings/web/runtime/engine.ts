// One engine of the core: the calls of core/include/mlc_llm.h.

import type { CoreEngine, CoreEvent, LogitFunction, ModelSpec } from "./core.ts";
import { CoreError, type ErrorBody } from "./errors.ts";
import type { CoreMemory } from "./memory.ts";

const KINDS = ["chunk", "result", "done", "error"] as const;

/** What mlc_llm.wasm exports and is called here. Addresses are numbers; ids are 64-bit. */
export interface CoreExports {
  [name: string]: (...values: (number | bigint)[]) => number;
}

/** What an engine needs of the core that made it (module.ts). */
export interface CoreCalls {
  readonly memory: CoreMemory;
  readonly exports: CoreExports;
  /** Calls a function that may suspend, after the calls before it. */
  suspending(name: string, ...values: number[]): Promise<number>;
  /** Runs `act` when no call is suspended. */
  exclusive<T>(act: () => T | Promise<T>): Promise<T>;
  /** There is new work: take turns. */
  wake(): void;
  /** Throws when the core has failed. */
  checkAlive(): void;
  onProgress: ((fraction: number, what: string) => boolean | void) | null;
  addStream(onEvent: (event: CoreEvent) => void): number;
  removeStream(user: number): void;
  /** It stays: requests that run may need it. */
  addProcessor(act: LogitFunction): number;
}

export function errorBody(json: string): ErrorBody {
  const { error } = JSON.parse(json) as { error: Partial<ErrorBody> };
  return {
    message: error.message ?? "",
    type: error.type ?? "server_error",
    param: error.param ?? null,
    code: error.code ?? null,
    status: error.status ?? null,
  };
}

export function toEvent(kind: number, json: string): CoreEvent {
  const name = KINDS[kind];
  if (name === "error") return { kind: name, error: errorBody(json) };
  return name === "done" ? { kind: name } : { kind: name, json };
}

/** Throws the error of a status, and frees it. */
export function checkStatus(core: Pick<CoreCalls, "memory" | "exports">, status: number): void {
  if (status === 0) return;
  const json = core.memory.cText(core.exports.mlc_status_get_error_json(status));
  core.exports.mlc_status_free(status);
  throw new CoreError(errorBody(json));
}

/** The text that a function wrote to a char**. */
export function takeText(core: Pick<CoreCalls, "memory" | "exports">, out: number): string {
  const address = core.memory.view().getUint32(out, true);
  const text = core.memory.cText(address);
  core.exports.mlc_string_free(address);
  return text;
}

export class WasmEngine implements CoreEngine {
  private address: number;

  constructor(private readonly core: CoreCalls, config: unknown) {
    core.checkAlive();
    this.address = core.memory.with([JSON.stringify(config ?? {}), 4], (json, out) => {
      checkStatus(core, core.exports.mlc_engine_create(json, out));
      return core.memory.view().getUint32(out, true);
    });
  }

  load(
    model: ModelSpec,
    onProgress?: (fraction: number, what: string) => boolean | void,
  ): Promise<void> {
    return this.core.exclusive(() => {
      this.core.onProgress = onProgress ?? null;
      return this.core.memory.withAsync([JSON.stringify(model)], async (json) => {
        checkStatus(this.core, await this.core.suspending("mlc_web_load", this.address, json));
      });
    });
  }

  plan(model: ModelSpec): Promise<unknown> {
    return this.core.exclusive(() =>
      this.core.memory.withAsync([JSON.stringify(model), 4], async (json, out) => {
        const call = this.core.suspending("mlc_engine_plan", this.address, json, out);
        checkStatus(this.core, await call);
        return JSON.parse(takeText(this.core, out));
      })
    );
  }

  unload(): Promise<void> {
    return this.callLater("mlc_engine_unload");
  }
  reset(): Promise<void> {
    return this.callLater("mlc_engine_reset");
  }
  destroy(): Promise<void> {
    return this.core.exclusive(async () => {
      await this.core.suspending("mlc_engine_destroy", this.address);
      this.address = 0;
    });
  }

  submit(
    route: string,
    request: unknown,
    onEvent: (event: CoreEvent) => void,
    buffers: readonly Uint8Array[] = [],
  ): number {
    this.core.checkAlive();
    const { memory, exports } = this.core;
    const json = typeof request === "string" ? request : JSON.stringify(request);
    const user = this.core.addStream(onEvent);
    try {
      return memory.with(
        [route, json, 8, 8 * buffers.length, ...buffers],
        (name, at, id, list, ...data) => {
          const words = memory.words(list, 2 * buffers.length);
          for (const [i, buffer] of buffers.entries()) words.set([data[i], buffer.length], 2 * i);
          const size = new TextEncoder().encode(json).length;
          checkStatus(
            this.core,
            exports.mlc_web_submit(this.address, name, at, size, list, buffers.length, user, id),
          );
          return Number(memory.view().getBigUint64(id, true));
        },
      );
    } catch (error) {
      this.core.removeStream(user);
      throw error;
    } finally {
      this.core.wake();
    }
  }

  setLogitProcessor(name: string, act: LogitFunction | null): void {
    this.core.checkAlive();
    const user = act === null ? 0 : this.core.addProcessor(act);
    this.core.memory.with([name], (at) => {
      const { mlc_web_set_logit_processor: set } = this.core.exports;
      checkStatus(this.core, set(this.address, at, user));
    });
  }

  abort(requestId: number): void {
    this.call("mlc_engine_abort", BigInt(requestId));
  }
  pauseRequest(requestId: number): void {
    this.call("mlc_engine_pause_request", BigInt(requestId));
  }
  resumeRequest(requestId: number): void {
    this.call("mlc_engine_resume_request", BigInt(requestId));
  }
  pause(): void {
    this.call("mlc_engine_pause");
  }
  resume(): void {
    this.call("mlc_engine_resume");
  }
  trimMemory(): void {
    this.call("mlc_engine_trim_memory");
  }

  metrics(): Record<string, unknown> {
    this.core.checkAlive();
    return this.core.memory.with([4], (out) => {
      checkStatus(this.core, this.core.exports.mlc_engine_metrics(this.address, out));
      return JSON.parse(takeText(this.core, out)) as Record<string, unknown>;
    });
  }

  /** Commands that still run then may wait for the GPU. */
  private callLater(name: string): Promise<void> {
    return this.core.exclusive(async () => {
      checkStatus(this.core, await this.core.suspending(name, this.address));
      this.core.wake();
    });
  }

  private call(name: string, ...values: bigint[]): void {
    this.core.checkAlive();
    checkStatus(this.core, this.core.exports[name](this.address, ...values));
    this.core.wake();
  }
}
