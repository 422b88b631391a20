import { WebWorkerMLCEngineHandler } from "mlc-llm";

const handler = new WebWorkerMLCEngineHandler();
self.onmessage = (event: MessageEvent) => handler.onmessage(event);
