import assert from "node:assert/strict";
import * as mlc from "../../bindings/web/src/mod.ts";
import { MemoryStore } from "../../bindings/web/src/cache/file_store.ts";
import type { WorkerLike } from "../../bindings/web/src/worker/ports.ts";
import { RemoteHost } from "../../bindings/web/src/worker/remote_host.ts";
import { isOurs, type Port, type ToPage } from "../../bindings/web/src/worker/messages.ts";
import { FakeRuntime } from "./fake_core.ts";
import { FakeServer, modelFolder, ORIGIN } from "./server.ts";

const RECORD = {
  model: `${ORIGIN}tiny/`,
  model_id: "tiny",
  model_lib: `${ORIGIN}tiny/lib.wasm`,
  device: "cpu",
};
const CONFIG: mlc.MLCEngineConfig = {
  appConfig: { model_list: [RECORD], cacheBackend: "memory" },
  wasm: `${ORIGIN}mlc_llm.wasm`,
};
const QUICK = { pingMs: 5, lostAfterMs: 200 };
const ask = (content: string) => ({ messages: [{ role: "user" as const, content }] });

function runtimeOf(fake: FakeRuntime, server = new FakeServer(modelFolder())): mlc.Runtime {
  return { loadCore: fake.loadCore, fetch: server.fetch, stores: { memory: new MemoryStore() } };
}

/** A worker whose messages are copied, as a browser does. */
class FakeWorker implements WorkerLike {
  isDead = false;
  private readonly listeners = new Map<string, ((event: never) => void)[]>();
  private readonly handler: mlc.WebWorkerMLCEngineHandler;

  constructor(fake: FakeRuntime) {
    this.handler = new mlc.WebWorkerMLCEngineHandler(runtimeOf(fake), (message) => {
      if (!this.isDead) this.fire("message", { data: structuredClone(message) });
    });
  }

  postMessage(message: unknown): void {
    const data = structuredClone(message);
    queueMicrotask(() => this.isDead || this.handler.onmessage({ data } as MessageEvent));
  }

  addEventListener(type: string, listen: (event: never) => void): void {
    this.listeners.set(type, [...this.listeners.get(type) ?? [], listen]);
  }

  fire(type: string, event: object): void {
    queueMicrotask(() => this.listeners.get(type)?.forEach((listen) => listen(event as never)));
  }
}

async function inWorker() {
  const fake = new FakeRuntime(), worker = new FakeWorker(fake);
  const engine = await mlc.CreateWebWorkerMLCEngine(worker, "tiny", CONFIG, undefined, QUICK);
  return { engine, worker, seen: fake.seen };
}

async function read(engine: mlc.HostedEngine, content: string) {
  let text = "";
  for await (
    const chunk of await engine.chat.completions.create({ ...ask(content), stream: true })
  ) {
    text += chunk.choices[0]?.delta.content ?? "";
  }
  return text;
}

Deno.test("a worker answers as the page's own engine does", async () => {
  const reports: number[] = [];
  const fake = new FakeRuntime(), worker = new FakeWorker(fake);
  const config = {
    ...CONFIG,
    initProgressCallback: (r: mlc.InitProgressReport) => reports.push(r.progress),
  };
  const engine = await mlc.CreateWebWorkerMLCEngine(worker, "tiny", config, undefined, QUICK);
  assert.equal(reports.at(-1), 1);
  assert.deepEqual(
    await Promise.all(["a b", "c d", "e", "f g h"].map((text) => read(engine, text))),
    ["a b", "c d", "e", "f g h"],
  );
  assert.equal(fake.seen.mostAtOnce, 4);
  assert.match(await engine.runtimeStatsText(), /decoding: 2.5/);
  await engine.resetChat();
  await engine.unload();
  await assert.rejects(engine.chat.completions.create(ask("x")), mlc.UnavailableError);
  assert.equal(fake.seen.destroyed, 1);
});

Deno.test("leaving a loop ends the request in the worker", async () => {
  const { engine, seen } = await inWorker();
  const request = { ...ask("a b c d e f g h i j"), stream: true } as const;
  for await (const _ of await engine.chat.completions.create(request)) break;
  assert.equal(await read(engine, "next"), "next");
  assert.equal(seen.aborted, 1);
  await engine.unload();
});

Deno.test("errors keep their class and their field on the way from a worker", async () => {
  const { engine } = await inWorker();
  await assert.rejects(
    engine.chat.completions.create({ messages: [] }),
    (error) => error instanceof mlc.InvalidRequestError && error.param === "messages",
  );
  await assert.rejects(engine.reload("none"), mlc.NotFoundError);
  await engine.unload();
});

Deno.test("a file that is not the announced one is an IntegrityError in a worker too", async () => {
  const { engine } = await inWorker();
  const record = { ...RECORD, model_id: "other", integrity: { model_lib: "sha256-AAAA" } };
  engine.setAppConfig({ model_list: [record], cacheBackend: "memory" });
  await assert.rejects(
    engine.reload("other"),
    (error) =>
      error instanceof mlc.IntegrityError && error.url === RECORD.model_lib &&
      error.expected === "sha256-AAAA" && error.actual.startsWith("sha256-"),
  );
});

Deno.test("a worker that fails or falls silent ends its requests, each once", async () => {
  for (const kill of ["error", "silence"]) {
    const { engine, worker } = await inWorker();
    const request = { ...ask("a b c d e f g h"), stream: true } as const;
    const stream = await engine.chat.completions.create(request);
    worker.isDead = true;
    if (kill === "error") worker.fire("error", { message: "out of memory" });
    const failures: unknown[] = [];
    try {
      for await (const _ of stream);
    } catch (error) {
      failures.push(error);
    }
    assert.equal(failures.length, 1);
    const [error] = failures;
    assert.ok(error instanceof mlc.UnavailableError && error.code === "worker_lost", kill);
    assert.deepEqual(await stream.next(), { value: undefined, done: true });
  }
});

/** A service worker, which the browser may end and start again. */
class FakeServiceWorker {
  numStarts = 0;
  readonly closed = new Set<string>();
  private handler: mlc.ServiceWorkerMLCEngineHandler | undefined;

  constructor(private readonly fake: FakeRuntime) {
    this.start();
  }

  start(): void {
    this.numStarts += 1;
    const get = (id: string) => Promise.resolve(this.closed.has(id) ? undefined : { id });
    const scope = { addEventListener: () => {}, clients: { get } };
    this.handler = new mlc.ServiceWorkerMLCEngineHandler(runtimeOf(this.fake), scope);
  }

  /** The port of a page. */
  port(id: string): Port {
    let receive = (_: ToPage) => {};
    const page = {
      id,
      postMessage: (data: unknown) =>
        queueMicrotask(() => receive(structuredClone(data) as ToPage)),
    };
    return {
      post: (data) => queueMicrotask(() => this.handler?.onmessage({ data, source: page })),
      listen: (take) => receive = take,
    };
  }
}

async function ofPage(worker: FakeServiceWorker, id: string) {
  const engine = new mlc.HostedEngine(new RemoteHost(worker.port(id), QUICK), CONFIG);
  await engine.reload("tiny");
  return engine;
}

Deno.test("pages share the models of a service worker", async () => {
  const fake = new FakeRuntime(), worker = new FakeServiceWorker(fake);
  const [one, two] = [await ofPage(worker, "1"), await ofPage(worker, "2")];
  assert.equal(fake.seen.loads.length, 1);
  assert.deepEqual(await Promise.all([read(one, "a b"), read(two, "c d")]), ["a b", "c d"]);
});

Deno.test("a service worker that was ended loads its models again", async () => {
  const fake = new FakeRuntime(), worker = new FakeServiceWorker(fake);
  const engine = await ofPage(worker, "1");
  assert.equal(await read(engine, "before"), "before");
  worker.start();
  assert.deepEqual(await Promise.all([read(engine, "a"), read(engine, "b")]), ["a", "b"]);
  assert.equal(fake.seen.loads.length, 2);
});

Deno.test("a request that was aborted is not sent to a service worker that loads again", async () => {
  const fake = new FakeRuntime(), worker = new FakeServiceWorker(fake);
  const engine = await ofPage(worker, "1"), controller = new AbortController();
  worker.start();
  const answer = engine.chat.completions.create(ask("unwanted"), controller);
  controller.abort();
  await assert.rejects(answer, mlc.CancelledError);
  assert.equal(await read(engine, "wanted"), "wanted");
  assert.deepEqual(fake.seen.requests.map((request) => request.messages[0].content), ["wanted"]);
});

Deno.test("the requests of a page that was closed end when another page asks", async () => {
  const fake = new FakeRuntime(), worker = new FakeServiceWorker(fake);
  const [one, two] = [await ofPage(worker, "1"), await ofPage(worker, "2")];
  const stream = await one.chat.completions.create({ ...ask("a ".repeat(1000)), stream: true });
  await stream[Symbol.asyncIterator]().next();
  worker.closed.add("1");
  assert.equal(await read(two, "b c"), "b c");
  assert.equal(fake.seen.aborted, 1);
});

Deno.test("messages of other programs are left alone", () => {
  for (const data of [null, 1, "x", {}, { to: "other" }]) assert.equal(isOurs(data), false);
});
