// In place of the page's `io/server.js`: the same functions over the engine in this browser.
//
// The models are in a worker, so the page stays free. `models/` is what `mlc_llm package` made.

import { Fault, faultOfServer } from "./faults.js";

const BASE = new URL("../../", import.meta.url);
const WEB = new URL("models/lib/web/", BASE);
const CONFIG = new URL("mlc-app-config.json", WEB);

export class Server {
  constructor(_preferences) {
    this.onLost = () => {};
    this.records = null;
    this.engine = null;
    this.loaded = ""; // the model that is loaded
    this.progress = null; // from 0 to 1 while a model is loaded
    this.failure = null;
    this.last = Promise.resolve(); // loads come one after the other
  }

  // {models: [{id, context_window_size, takes_pictures}], can_load, loading}
  async info() {
    await this.start();
    if (this.failure !== null) {
      const failure = this.failure;
      this.failure = null;
      throw failure;
    }
    const models = this.records.map(({ model_id, context_window_size = null }) => (
      { id: model_id, context_window_size, takes_pictures: false }
    ));
    return { models, can_load: false, loading: this.progress };
  }

  load() {
    throw new Fault("fault.refused");
  }

  unload() {
    throw new Fault("fault.refused");
  }

  // The engine is in this page: it cannot be out of reach.
  isAlive() {
    return Promise.resolve(true);
  }

  async countTokens(model, text) {
    await this.use(model);
    return (await this.guarded(() => this.engine.tokenize({ text }))).tokens.length;
  }

  async *stream(body, signal) {
    await this.use(body.model);
    const request = { ...body, model: this.loaded, stream: true };
    const { completions } = this.engine.chat;
    const chunks = await this.guarded(() => completions.create(request, { signal }), signal);
    for (;;) {
      const { value, done } = await this.guarded(() => chunks.next(), signal);
      if (done) return;
      yield value;
    }
  }

  // Reads the list of models, and begins to load the first one.
  async start() {
    if (this.records !== null) return;
    const sdk = await import(new URL("src/mod.js", WEB).href);
    const appConfig = await this.guarded(() => sdk.fetchAppConfig(CONFIG.href));
    this.sdk = sdk;
    this.appConfig = appConfig;
    this.records = appConfig.model_list;
    if (this.records.length === 0) throw new Fault("fault.model_not_loaded");
    this.use(this.records[0].model_id).catch((error) => this.failure = error);
  }

  // Loads a model if another one is loaded.
  use(model) {
    const turn = this.last.then(() => this.load_(model), () => this.load_(model));
    this.last = turn.catch(() => {});
    return turn;
  }

  async load_(wanted) {
    const model = wanted || this.loaded || this.records[0].model_id;
    if (this.loaded === model) return;
    this.progress = 0;
    this.loaded = "";
    const initProgressCallback = ({ progress }) => this.progress = progress;
    try {
      await this.guarded(async () => {
        if (this.engine !== null) return await this.engine.reload(model);
        const worker = new Worker(new URL("worker.js", BASE), { type: "module" });
        try {
          this.engine = await this.sdk.CreateWebWorkerMLCEngine(worker, model, {
            appConfig: this.appConfig,
            initProgressCallback,
          });
        } catch (error) {
          worker.terminate(); // the next load starts another one
          throw error;
        }
      });
      this.loaded = model;
    } finally {
      this.progress = null;
    }
  }

  // Errors of the engine, as the page says them.
  async guarded(act, signal) {
    try {
      return await act();
    } catch (error) {
      if (signal?.aborted) throw new DOMException("stopped", "AbortError");
      if (!(error instanceof Error) || !("code" in error)) throw error;
      const status = error.type === "server_error" ? 500 : 400;
      throw faultOfServer({ code: error.code, message: error.message }, status);
    }
  }
}

// The page itself is kept, so that it opens without a network; the SDK keeps the models.
if (globalThis.document && navigator.serviceWorker) {
  navigator.serviceWorker.register(new URL("service_worker.js", BASE));
}
