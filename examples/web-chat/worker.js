// The engine's thread.

import { WebWorkerMLCEngineHandler } from "./models/lib/web/src/mod.js";

const handler = new WebWorkerMLCEngineHandler();
self.onmessage = (event) => handler.onmessage(event);
