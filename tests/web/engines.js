// The engines that a page may have, for test_web_workers.py: each function ends with a plain value.

import * as mlc from "./models/lib/web/src/mod.js";

const appConfig = await mlc.fetchAppConfig("models/lib/web/mlc-app-config.json");
const BODY = { max_tokens: 12, seed: 1, debug_config: { ignore_eos: true } };
const ask = (content) => ({ ...BODY, messages: [{ role: "user", content }] });
const QUICK = { pingMs: 200, lostAfterMs: 4000 };

async function streamed(engine, content) {
  let text = "";
  for await (const chunk of await engine.chat.completions.create({ ...ask(content), stream: true })) {
    text += chunk.choices[0]?.delta.content ?? "";
  }
  return text;
}

const newWorker = () => new Worker("worker.js", { type: "module" });

// The texts of four requests at once, in this thread and in a worker.
async function inThread() {
  const engine = await mlc.CreateMLCEngine("one", { appConfig });
  return await Promise.all([0, 1, 2, 3].map((i) => streamed(engine, `question ${i}`)));
}

async function inWorker() {
  const engine = await mlc.CreateWebWorkerMLCEngine(newWorker(), "one", { appConfig });
  return await Promise.all([0, 1, 2, 3].map((i) => streamed(engine, `question ${i}`)));
}

// A worker is ended in the middle of an answer: the error's code, and a new engine's answer.
async function killed() {
  const worker = newWorker();
  const engine = await mlc.CreateWebWorkerMLCEngine(worker, "one", { appConfig }, {}, QUICK);
  let code = "";
  try {
    const request = { ...ask("long"), max_tokens: 8000, stream: true };
    for await (const _ of await engine.chat.completions.create(request)) worker.terminate();
  } catch (error) {
    code = error.code;
  }
  const next = await mlc.CreateWebWorkerMLCEngine(newWorker(), "one", { appConfig });
  return [code, await streamed(next, "question 0")];
}

let shared;

async function inServiceWorker() {
  await navigator.serviceWorker.register("engine_worker.js", { type: "module" });
  shared = await mlc.CreateServiceWorkerMLCEngine("one", { appConfig }, {}, QUICK);
  return await Promise.all([0, 1, 2, 3].map((i) => streamed(shared, `question ${i}`)));
}

// A number that another start of the service worker does not have.
function born() {
  const { port1, port2 } = new MessageChannel();
  navigator.serviceWorker.controller.postMessage("born", [port2]);
  return new Promise((resolve) => port1.onmessage = ({ data }) => resolve(data));
}

const again = () => streamed(shared, "question 0");

// Two tabs' worth of stores: each kind keeps the model, and loads it without asking the server.
async function kept(cacheBackend) {
  const config = { ...appConfig, cacheBackend };
  const before = await mlc.hasModelInCache("one", config);
  const engine = await mlc.CreateMLCEngine("one", { appConfig: config });
  const text = await streamed(engine, "question 0");
  const after = await mlc.hasModelInCache("one", config);
  await mlc.deleteModelAllInfoInCache("one", config);
  return [before, after, await mlc.hasModelInCache("one", config), text];
}

globalThis.engines = { inThread, inWorker, killed, inServiceWorker, born, again, kept };
document.documentElement.dataset.ready = "true";
