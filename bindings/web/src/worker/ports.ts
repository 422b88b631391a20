/** The page's ports to a worker and to the service worker. */

import { UnsupportedError } from "../errors.ts";
import { isOurs, type Port, type ToPage } from "./messages.ts";

/** What is used of a Worker. */
export interface WorkerLike {
  postMessage(message: unknown): void;
  addEventListener(type: "message", listen: (event: MessageEvent) => void): void;
  addEventListener(type: "error" | "messageerror", listen: (event: Event) => void): void;
}

export function workerPort(worker: WorkerLike): Port {
  return {
    post: (message) => worker.postMessage(message),
    listen(receive, lost) {
      worker.addEventListener("message", ({ data }) => isOurs(data) && receive(data as ToPage));
      const say = (event: Event) => lost((event as ErrorEvent).message ?? "a message broke");
      worker.addEventListener("error", say);
      worker.addEventListener("messageerror", say);
    },
  };
}

/** The service worker that controls this page; waits until one does. */
export async function serviceWorkerPort(
  container: ServiceWorkerContainer | undefined = globalThis.navigator?.serviceWorker,
): Promise<Port> {
  if (!container) {
    throw new UnsupportedError(
      "this page has no service workers, which only https and localhost give; use " +
        "CreateWebWorkerMLCEngine",
    );
  }
  const { active } = await container.ready;
  return {
    // After an update or an end, the browser starts the worker again for the message.
    post: (message) => (container.controller ?? active)?.postMessage(message),
    listen(receive) {
      container.addEventListener("message", ({ data }) => isOurs(data) && receive(data as ToPage));
      container.startMessages();
    },
  };
}
