/** WebLLM's ways to make an engine, in this thread or in a worker, and the workers' handlers. */

import { MLCEngine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import { LocalHost, type Runtime } from "../host/local_host.ts";
import { isOurs, type ToPage } from "../worker/messages.ts";
import { serviceWorkerPort, type WorkerLike, workerPort } from "../worker/ports.ts";
import { RemoteHost, type RemoteOptions } from "../worker/remote_host.ts";
import { WorkerSide } from "../worker/worker_side.ts";
import { browserRuntime } from "./runtime.ts";
import type { ChatOptions, MLCEngineConfig } from "./config.ts";

type Ids = string | readonly string[];
type Options = ChatOptions | readonly ChatOptions[];

async function created(
  host: Host,
  ids: Ids,
  config: MLCEngineConfig | undefined,
  options: Options | undefined,
): Promise<MLCEngine> {
  const engine = new MLCEngine(host, config);
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
  return created(new LocalHost(runtime), modelId, engineConfig, chatOpts);
}

/** An engine whose models are in a worker that has a `WebWorkerMLCEngineHandler`. */
export function CreateWebWorkerMLCEngine(
  worker: WorkerLike,
  modelId: Ids,
  engineConfig?: MLCEngineConfig,
  chatOpts?: Options,
  remote?: RemoteOptions,
): Promise<MLCEngine> {
  return created(new RemoteHost(workerPort(worker), remote), modelId, engineConfig, chatOpts);
}

/** An engine whose models are in the page's service worker; pages share them. */
export async function CreateServiceWorkerMLCEngine(
  modelId: Ids,
  engineConfig?: MLCEngineConfig,
  chatOpts?: Options,
  remote?: RemoteOptions,
): Promise<MLCEngine> {
  const port = await serviceWorkerPort();
  return await created(new RemoteHost(port, remote), modelId, engineConfig, chatOpts);
}

/**
 *     const handler = new WebWorkerMLCEngineHandler();
 *     self.onmessage = (event) => handler.onmessage(event);
 */
export class WebWorkerMLCEngineHandler {
  private readonly side: WorkerSide;

  constructor(
    runtime: Runtime = browserRuntime,
    send: (message: ToPage) => void = (message) =>
      (globalThis as unknown as Worker).postMessage(message),
  ) {
    this.side = new WorkerSide(new LocalHost(runtime), send);
  }

  onmessage(event: MessageEvent): void {
    this.side.receive(event.data);
  }
}

/** What is used of a service worker's global object. */
export interface ServiceWorkerScope {
  addEventListener(type: "message", listen: (event: ExtendableMessage) => void): void;
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
    scope: ServiceWorkerScope = globalThis as unknown as ServiceWorkerScope,
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
  }
}
