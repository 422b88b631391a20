import { ServiceWorkerMLCEngineHandler } from "./models/lib/web/src/mod.js";

new ServiceWorkerMLCEngineHandler();
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

// Which start of this worker answers.
const born = Math.random();
self.addEventListener("message", ({ data, ports }) => data === "born" && ports[0].postMessage(born));
