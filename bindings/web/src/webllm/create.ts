/** WebLLM's ways to make an engine, in this thread or in a worker, and the workers' handlers. */

import { HostedEngine } from "../engine/engine.ts";
import { LocalHost, type Runtime } from "../host/local_host.ts";
import type { LogitProcessorRegistry } from "../host/logit_processors.ts";
import { isOurs, type ToPage } from "../worker/messages.ts";
import { serviceWorkerPort, type WorkerLike, workerPort } from "../worker/ports.ts";
import { RemoteHost, type RemoteOptions } from "../worker/remote_host.ts";
import { WorkerSide } from "../worker/worker_side.ts";
import { browserRuntime } from "./runtime.ts";
import type { ChatOptions, MLCEngineConfig } from "./config.ts";

type Ids = string | readonly string[];
type Options = ChatOptions | readonly ChatOptions[];

/** An engine in this thread. `reload` loads its models. */
export class MLCEngine extends HostedEngine {
  constructor(config?: MLCEngineConfig, runtime: Runtime = browserRuntime) {
    super(new LocalHost(runtime), config);
  }
}

/** An engine whose models are in a worker that has a `WebWorkerMLCEngineHandler`. */
export class WebWorkerMLCEngine extends HostedEngine {
  constructor(worker: WorkerLike, config?: MLCEngineConfig, remote?: RemoteOptions) {
    super(new RemoteHost(workerPort(worker), remote), config);
  }
}

async function loaded<E extends HostedEngine>(engine: E, ids: Ids, options?: Options): Promise<E> {
  await engine.reload(ids, options);
  return engine;
}

/** An engine in this thread, with its models loaded. A page's own thread is better left free. */
export function CreateMLCEngine(
  modelId: Ids,
  engineConfig?: MLCEngineConfig,
  chatOpts?: Options,
  runtime: Runtime = browserRuntime,
): Promise<MLCEngine> {
  return loaded(new MLCEngine(engineConfig, runtime), modelId, chatOpts);
}

/** An engine whose models are in a worker that has a `WebWorkerMLCEngineHandler`. */
export function CreateWebWorkerMLCEngine(
  worker: WorkerLike,
  modelId: Ids,
  engineConfig?: MLCEngineConfig,
  chatOpts?: Options,
  remote?: RemoteOptions,
): Promise<WebWorkerMLCEngine> {
  return loaded(new WebWorkerMLCEngine(worker, engineConfig, remote), modelId, chatOpts);
}

/** An engine whose models are in the page's service worker; pages share them. */
export async function CreateServiceWorkerMLCEngine(
  modelId: Ids,
  engineConfig?: MLCEngineConfig,
  chatOpts?: Options,
  remote?: RemoteOptions,
): Promise<HostedEngine> {
  const port = await serviceWorkerPort();
  return await loaded(
    new HostedEngine(new RemoteHost(port, remote), engineConfig),
    modelId,
    chatOpts,
  );
}

/**
 *     const handler = new WebWorkerMLCEngineHandler();
 *     self.onmessage = (event) => handler.onmessage(event);
 */
export class WebWorkerMLCEngineHandler {
  private readonly side: WorkerSide;
  private readonly host: LocalHost;

  constructor(
    runtime: Runtime = browserRuntime,
    send: (message: ToPage) => void = (message) =>
      (globalThis as unknown as Worker).postMessage(message),
  ) {
    this.host = new LocalHost(runtime);
    this.side = new WorkerSide(this.host, send);
  }

  setLogitProcessorRegistry(registry: LogitProcessorRegistry = new Map()): void {
    this.host.setLogitProcessors(registry);
  }

  onmessage(event: MessageEvent): void {
    this.side.receive(event.data);
  }
}

/** What is used of a service worker's global object. */
export interface ServiceWorkerScope {
  addEventListener(type: "message", listen: (event: ExtendableMessage) => void): void;
  readonly clients?: { get(id: string): Promise<unknown> };
}

interface ExtendableMessage {
  readonly data: unknown;
  readonly source: { readonly id?: string; postMessage(message: unknown): void } | null;
}

/**
 * Answers the pages of a service worker; made once, at its start. The browser ends a service worker
 * that has no work; the pages' next requests then load the models again.
 */
export class ServiceWorkerMLCEngineHandler {
  private readonly host: LocalHost;
  private readonly pages = new Map<string, WorkerSide>();

  constructor(
    runtime: Runtime = browserRuntime,
    private readonly scope: ServiceWorkerScope = globalThis as unknown as ServiceWorkerScope,
  ) {
    this.host = new LocalHost(runtime);
    scope.addEventListener("message", (event) => this.onmessage(event));
  }

  onmessage({ data, source }: ExtendableMessage): void {
    if (!source || !isOurs(data)) return;
    const id = source.id ?? "";
    const side = this.pages.get(id) ??
      new WorkerSide(this.host, (message) => source.postMessage(message));
    this.pages.set(id, side);
    side.receive(data);
    void this.forgetClosedPages();
  }

  /** A page that was closed cannot end its requests, and those of other pages would wait. */
  private async forgetClosedPages(): Promise<void> {
    const { clients } = this.scope;
    for (const [id, side] of clients ? [...this.pages] : []) {
      if (id === "" || await clients?.get(id)) continue;
      side.close();
      this.pages.delete(id);
    }
  }
}
