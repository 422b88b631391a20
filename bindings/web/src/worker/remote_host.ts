/** Models in a worker: the page's side. */

import type { Backend, Listener, Submission } from "../engine/backend.ts";
import {
  errorFromJson,
  IntegrityError,
  MLCError,
  UnavailableError,
  UnsupportedError,
} from "../errors.ts";
import type { LogitProcessorRegistry } from "../host/logit_processors.ts";
import {
  choose,
  type Host,
  type HostInfo,
  type InitProgressReport,
  type LoadRequest,
} from "../host/host.ts";
import { type Call, MARK, type Port, type ToPage, type ToWorker } from "./messages.ts";

export interface RemoteOptions {
  /** How often a worker that has work is asked whether it lives. */
  pingMs?: number;
  /** Without any word for so long, a worker is lost. */
  lostAfterMs?: number;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: MLCError): void;
  onProgress?: ((report: InitProgressReport) => void) | undefined;
}

interface Running {
  readonly listen: Listener;
  readonly message: ToWorker;
  hasBegun: boolean;
}

type Unmarked<T> = T extends unknown ? Omit<T, "to"> : never;

export class RemoteHost implements Host {
  private lastId = 0;
  private lastWord = Date.now();
  private timer: ReturnType<typeof setInterval> | undefined;
  private request: LoadRequest | undefined;
  private reloading: Promise<void> | undefined;
  private readonly calls = new Map<number, Pending>();
  private readonly running = new Map<number, Running>();
  private readonly loaded = new Map<string, Backend>();

  constructor(private readonly port: Port, private readonly options: RemoteOptions = {}) {
    port.listen((message) => this.take(message), (why) => this.lose(why));
  }

  async load(request: LoadRequest, onProgress: (r: InitProgressReport) => void): Promise<void> {
    this.loaded.clear();
    await this.call({ name: "load", request }, onProgress);
    this.request = request;
    for (const { record: { model_id } } of request.models) {
      this.loaded.set(model_id, this.backendOf(model_id));
    }
  }

  backend(model: string | null): Backend {
    return choose(this.loaded, model);
  }

  async unload(): Promise<void> {
    this.loaded.clear();
    this.request = undefined;
    await this.call({ name: "unload" });
  }

  setLogitProcessors(registry: LogitProcessorRegistry): void {
    if (registry.size === 0) return;
    throw new UnsupportedError(
      "a logit processor cannot be sent to a worker; give the registry to the worker's handler: " +
        "handler.setLogitProcessorRegistry(registry)",
      { param: "logitProcessorRegistry" },
    );
  }

  async info(): Promise<HostInfo> {
    return await this.call({ name: "info" }) as HostInfo;
  }

  private backendOf(model: string): Backend {
    return {
      submit: (route, body, listen) => this.submit(model, route, body, listen),
      metrics: async () => await this.call({ name: "metrics", model }) as string,
      reset: async () => void await this.call({ name: "reset", model }),
      close: () => this.unload(),
    };
  }

  private submit(model: string, route: string, body: string, listen: Listener): Submission {
    const id = ++this.lastId;
    const message = { to: MARK, kind: "submit", id, model, route, body } as const;
    this.running.set(id, { listen, message, hasBegun: false });
    this.post(message);
    return { abort: () => this.running.delete(id) && this.post({ kind: "abort", id }) };
  }

  private call(call: Call, onProgress?: (report: InitProgressReport) => void): Promise<unknown> {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.calls.set(id, { resolve, reject, onProgress });
      this.post({ kind: "call", id, call });
    });
  }

  private post(message: Unmarked<ToWorker>): void {
    this.port.post({ ...message, to: MARK } as ToWorker);
    this.watch();
  }

  private take(message: ToPage): void {
    this.lastWord = Date.now();
    if (message.kind === "event") {
      this.tell(message.id, message.event);
    } else if (message.kind === "progress") {
      this.calls.get(message.id)?.onProgress?.(message.report);
    } else {
      const pending = this.calls.get(message.id);
      this.calls.delete(message.id);
      if (message.kind === "answer") pending?.resolve(message.value);
      else pending?.reject(failureOf(message));
    }
    if (this.calls.size + this.running.size === 0) this.rest();
  }

  private tell(id: number, event: Parameters<Listener>[0]): void {
    const request = this.running.get(id);
    if (!request) return;
    if (event.kind === "error" && this.mayRetry(request, event.json)) return void this.retry(id);
    request.hasBegun = true;
    if (event.kind !== "chunk") this.running.delete(id);
    request.listen(event);
  }

  /** A service worker that the browser ended and started again has lost its models. */
  private mayRetry(request: Running, json: string): boolean {
    if (request.hasBegun || !this.request) return false;
    return errorFromJson(JSON.parse(json)).code === "model_not_loaded";
  }

  private async retry(id: number): Promise<void> {
    const request = this.running.get(id), load = this.request;
    if (!request || !load) return;
    request.hasBegun = true; // once
    try {
      this.reloading ??= this.call({ name: "load", request: load }).then(() => {});
      await this.reloading;
      if (this.running.has(id)) this.post(request.message);
    } catch (error) {
      const json = JSON.stringify((error as MLCError).toJSON());
      this.running.delete(id);
      request.listen({ kind: "error", json });
    } finally {
      this.reloading = undefined;
    }
  }

  /** Asks from time to time while something is awaited. */
  private watch(): void {
    if (this.timer !== undefined) return;
    const { pingMs = 5000, lostAfterMs = 60_000 } = this.options;
    this.lastWord = Date.now();
    this.timer = setInterval(() => {
      if (Date.now() - this.lastWord > lostAfterMs) {
        return this.lose(`it said nothing for ${Math.round(lostAfterMs / 1000)} s`);
      }
      this.port.post({ to: MARK, kind: "call", id: 0, call: { name: "ping" } });
    }, pingMs);
  }

  private rest(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private lose(why: string): void {
    this.rest();
    const error = new UnavailableError(
      `the worker with the model was lost: ${why}; make a new engine, or reload the model`,
      { code: "worker_lost" },
    );
    const calls = [...this.calls.values()], running = [...this.running.values()];
    this.calls.clear();
    this.running.clear();
    for (const call of calls) call.reject(error);
    const json = JSON.stringify(error.toJSON());
    for (const { listen } of running) listen({ kind: "error", json });
  }
}

/** The error of a call, of the class that it has in the worker. */
function failureOf({ error, checksums }: ToPage & { kind: "failure" }): MLCError {
  return checksums
    ? new IntegrityError(error.error.param ?? "", ...checksums)
    : errorFromJson(error);
}
