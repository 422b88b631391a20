import assert from "node:assert/strict";
import * as mlc from "../../bindings/web/src/mod.ts";
import { MemoryStore } from "../../bindings/web/src/cache/file_store.ts";
import { logitFunction } from "../../bindings/web/src/host/logit_processors.ts";
import { FakeRuntime } from "./fake_core.ts";
import { FakeServer, modelFolder, ORIGIN } from "./server.ts";

const RECORD = {
  model: `${ORIGIN}tiny`,
  model_id: "tiny",
  model_lib: `${ORIGIN}tiny/lib.wasm`,
  device: "cpu",
  overrides: { context_window_size: 32 },
};
const OTHER = { ...RECORD, model_id: "other", overrides: {} };
const CONFIG: mlc.MLCEngineConfig = {
  appConfig: { model_list: [RECORD, OTHER], cacheBackend: "memory" },
  wasm: `${ORIGIN}mlc_llm.wasm`,
};

function setUp() {
  const fake = new FakeRuntime(), server = new FakeServer(modelFolder());
  const stores = { memory: new MemoryStore() };
  const runtime: mlc.Runtime = { loadCore: fake.loadCore, fetch: server.fetch, stores };
  return { fake, server, runtime };
}

async function made(config: mlc.MLCEngineConfig = CONFIG, ids: string | string[] = "tiny") {
  const { fake, server, runtime } = setUp();
  const engine = await mlc.CreateMLCEngine(ids, config, undefined, runtime);
  return { engine, server, seen: fake.seen, fake };
}

const ask = (content: string, model?: string): mlc.ChatCompletionRequest => ({
  messages: [{ role: "user", content }],
  ...(model ? { model } : {}),
});

async function streamed(engine: mlc.MLCEngine, request: mlc.ChatCompletionRequest) {
  let text = "";
  for await (const chunk of await engine.chat.completions.create({ ...request, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? "";
  }
  return text;
}

Deno.test("an answer whole and in chunks; its message and its speed", async () => {
  const { engine, seen } = await made();
  const whole = await engine.chat.completions.create({ ...ask("one two three"), stream: false });
  assert.equal(whole.choices[0]?.message.content, "one two three");
  assert.equal(await engine.getMessage(), "one two three");
  assert.equal(await streamed(engine, ask("four five")), "four five");
  assert.equal(await engine.getMessage(), "four five");
  assert.match(await engine.runtimeStatsText(), /prefill: 10.0000 .*decoding: 2.5000 tokens/);
  assert.equal(seen.loads[0]?.config.context_window_size, 32);
  assert.equal(seen.loads[0]?.library, 77);
});

Deno.test("what WebLLM writes in another way reaches the engine as the protocol has it", async () => {
  const { engine, seen } = await made();
  const whole = await engine.chat.completions.create({
    ...ask("one two"),
    stream: false,
    ignore_eos: true,
    extra_body: { enable_thinking: false, top_k: 3 },
    response_format: {
      type: "structural_tag",
      structural_tag: { type: "structural_tag", format: { type: "any_text" } },
    },
  });
  const { messages: _, stream: __, ...sent } = seen.requests.at(-1)!;
  assert.deepEqual(sent, {
    top_k: 3,
    chat_template_kwargs: { enable_thinking: false },
    response_format: { type: "structural_tag", format: { type: "any_text" } },
    debug_config: { ignore_eos: true },
    usage_extra: true,
  });
  assert.equal(whole.usage?.extra.decode_tokens_per_s, 2.5);
  assert.equal(whole.usage?.extra.e2e_latency_s, 3);
  assert.equal(whole.usage?.extra.time_to_first_token_s, 0);
  await engine.completions.create({ prompt: "a", logprobs: true, top_logprobs: 2 });
  assert.deepEqual(seen.requests.at(-1), { prompt: "a", logprobs: 2 });
  await assert.rejects(
    async () =>
      await engine.chat.completions.create({
        ...ask("a"),
        extra_body: { enable_latency_breakdown: true },
      }),
    (error) =>
      error instanceof mlc.UnsupportedError &&
      error.param === "extra_body.enable_latency_breakdown",
  );
});

Deno.test("progress goes from 0 to 1 and says what is done", async () => {
  const reports: mlc.InitProgressReport[] = [];
  await made({ ...CONFIG, initProgressCallback: (report) => reports.push(report) });
  const numbers = reports.map(({ progress }) => progress);
  assert.deepEqual(numbers, [...numbers].sort((a, b) => a - b));
  assert.equal(numbers.at(-1), 1);
  assert.ok(reports.some(({ text }) => /Downloading tiny/.test(text)));
  assert.ok(reports.every(({ timeElapsed }) => timeElapsed >= 0));
});

Deno.test("four requests run at once, and each gets its own answer", async () => {
  const { engine, seen } = await made();
  const prompts = [0, 1, 2, 3].map((i) => `request ${i} has its own words`);
  const answers = await Promise.all(prompts.map((prompt) => streamed(engine, ask(prompt))));
  assert.deepEqual(answers, prompts);
  assert.equal(seen.mostAtOnce, 4);
  assert.ok(prompts.includes(await engine.getMessage()));
});

Deno.test("leaving the loop ends the request", async () => {
  const { engine, seen } = await made();
  const request = { ...ask("a b c d e f"), stream: true } as const;
  for await (const _ of await engine.chat.completions.create(request)) break;
  assert.equal(seen.aborted, 1);
  assert.equal(await streamed(engine, ask("still here")), "still here");
});

Deno.test("a signal ends a stream, a whole answer, and a request that was not begun", async () => {
  const { engine, seen } = await made();
  const abort = new AbortController();
  const request = { ...ask("a b c d e f"), stream: true } as const;
  const read = async () => {
    const stream = await engine.chat.completions.create(request, { signal: abort.signal });
    for await (const _ of stream) abort.abort("enough");
  };
  await assert.rejects(
    read(),
    (error) => error instanceof mlc.CancelledError && error.cause === "enough",
  );
  await assert.rejects(read(), mlc.CancelledError);
  const second = new AbortController();
  const whole = engine.chat.completions.create(ask("a b"), { signal: second.signal });
  second.abort();
  await assert.rejects(whole, mlc.CancelledError);
  assert.equal(seen.aborted, 2);
});

Deno.test("interruptGenerate ends all loops", async () => {
  const { engine, seen } = await made();
  const request = { ...ask("a b c d e f g h"), stream: true } as const;
  const count = async () => {
    let chunks = 0;
    for await (const _ of await engine.chat.completions.create(request)) {
      if (++chunks === 2) engine.interruptGenerate();
    }
    return chunks;
  };
  const counts = await Promise.all([count(), count()]);
  assert.ok(counts.every((chunks) => chunks < 8), String(counts));
  assert.equal(seen.aborted, 2);
});

Deno.test("a refused request is a typed error that names the field", async () => {
  const { engine } = await made();
  for (const stream of [true, false]) {
    const failed = engine.chat.completions.create({ messages: [], stream });
    await assert.rejects(
      failed,
      (error) => error instanceof mlc.InvalidRequestError && error.param === "messages",
    );
  }
  const round: Record<string, unknown> = {};
  round["self"] = round;
  const failed = engine.chat.completions.create({ ...ask("a"), metadata: round as never });
  await assert.rejects(failed, { code: "invalid_json" });
  for (const temperature of [NaN, Infinity]) {
    await assert.rejects(
      engine.chat.completions.create({ ...ask("a"), temperature }),
      { code: "invalid_json", param: "temperature" },
    );
  }
  const nested = { metadata: { a: ["x", NaN] } as never };
  await assert.rejects(
    engine.chat.completions.create({ ...ask("a"), ...nested }),
    { code: "invalid_json", param: "metadata.a[1]" },
  );
});

Deno.test("embeddings, and several models at once", async () => {
  const { engine, seen } = await made(CONFIG, ["tiny", "other"]);
  assert.deepEqual(engine.models, ["tiny", "other"]);
  const { data } = await engine.embeddings.create({ input: ["abc", "d"], model: "tiny" });
  assert.deepEqual(data.map((item) => item.embedding), [[3, 1], [1, 1]]);
  assert.equal(await streamed(engine, ask("hi there", "other")), "hi there");
  assert.equal(await engine.getMessage("other"), "hi there");
  assert.equal(await engine.getMessage("tiny"), "");
  await assert.rejects(engine.chat.completions.create(ask("hi")), /several models are loaded/);
  await assert.rejects(engine.chat.completions.create(ask("hi", "third")), mlc.InvalidRequestError);
  assert.equal(seen.loads[1]?.config.context_window_size, 64);
  await engine.reload("other");
  assert.equal(seen.loads.length, 2, "a loaded model stays");
  assert.equal(seen.destroyed, 1);
});

Deno.test("reload with other options loads anew; unload ends requests", async () => {
  const { engine, seen } = await made();
  await engine.reload("tiny", { context_window_size: 16 });
  assert.equal(seen.loads[1]?.config.context_window_size, 16);
  const running = engine.chat.completions.create(ask("a b c"));
  const ended = assert.rejects(running, mlc.CancelledError);
  await engine.unload();
  await ended;
  await assert.rejects(
    engine.chat.completions.create(ask("a")),
    (error) => error instanceof mlc.UnavailableError && error.code === "model_not_loaded",
  );
  await engine.reload("tiny");
  assert.equal(await streamed(engine, ask("again")), "again");
});

Deno.test("what cannot run is refused before any download", async () => {
  const { server, runtime } = setUp();
  const create = (change: object) => {
    const model_list = [{ ...RECORD, ...change }];
    const config = { ...CONFIG, appConfig: { model_list, cacheBackend: "memory" as const } };
    return mlc.CreateMLCEngine("tiny", config, undefined, runtime);
  };
  if (!(globalThis.navigator as { gpu?: unknown }).gpu) {
    await assert.rejects(create({ device: "webgpu" }), /WebGPU/);
  }
  await assert.rejects(create({ model_lib: undefined }), /model_lib/);
  await assert.rejects(create({ model_id: "x" }), mlc.NotFoundError);
  const config = { appConfig: { model_list: [RECORD], cacheBackend: "indexeddb" as never } };
  await assert.rejects(
    mlc.CreateMLCEngine("tiny", config, undefined, runtime),
    mlc.UnsupportedError,
  );
  assert.equal(server.asked.length, 0);
});

Deno.test("the requests of a model in the registry name its processor", async () => {
  const processor = {} as mlc.LogitProcessor;
  const logitProcessorRegistry = new Map([["tiny", processor]]);
  const { engine, seen, fake } = await made({ ...CONFIG, logitProcessorRegistry }, [
    "tiny",
    "other",
  ]);
  assert.deepEqual([...fake.processors.keys()], ["tiny"]);
  await engine.chat.completions.create(ask("one", "tiny"));
  await engine.chat.completions.create(ask("one", "other"));
  engine.setLogitProcessorRegistry(new Map([["other", processor]]));
  assert.deepEqual([...fake.processors.keys()], ["other"]);
  await engine.chat.completions.create(ask("one", "tiny"));
  const names = seen.requests.map((request) => request.logit_processor);
  assert.deepEqual(names, ["registry", undefined, undefined]);
});

Deno.test("a processor hears of each token once, and of each new answer", () => {
  const heard: (string | number)[] = [];
  const act = logitFunction({
    processLogits: (logits) => logits.map((logit) => logit + 1),
    processSampledToken: (token) => heard.push(token),
    resetState: () => heard.push("reset"),
  });
  const call = (...answer: number[]) =>
    act(new Int32Array(2), new Int32Array(answer), new Float32Array([1, 2]));
  assert.deepEqual([...call()], [2, 3]);
  call(7);
  call(7, 8, 9); // two tokens in one step
  call();
  call(5);
  assert.deepEqual(heard, ["reset", 7, 8, 9, "reset", 5]);
});

Deno.test("a core of another version is refused", async () => {
  const { fake, runtime } = setUp();
  fake.schemaHash = "0";
  await assert.rejects(
    mlc.CreateMLCEngine("tiny", CONFIG, undefined, runtime),
    mlc.UnsupportedError,
  );
});

Deno.test("a failed load leaves nothing loaded, and another load works", async () => {
  const { fake, server, runtime } = setUp();
  const shard = server.files.get(`${ORIGIN}tiny/params_shard_0.bin`)!;
  server.files.delete(`${ORIGIN}tiny/params_shard_0.bin`);
  const host = new mlc.LocalHost(runtime), engine = new mlc.HostedEngine(host, CONFIG);
  await assert.rejects(engine.reload("tiny"), mlc.NotFoundError);
  await assert.rejects(engine.chat.completions.create(ask("a")), mlc.UnavailableError);
  server.files.set(`${ORIGIN}tiny/params_shard_0.bin`, shard);
  await engine.reload("tiny");
  assert.equal(fake.seen.loads.length, 1);
});

Deno.test("an app's config that cannot be fetched or is none is a typed error", async () => {
  await assert.rejects(mlc.fetchAppConfig("nowhere:"), { name: "DownloadError", param: "url" });
  await assert.rejects(mlc.fetchAppConfig("http://["), mlc.InvalidRequestError);
  for (const page of ["<!DOCTYPE html>", "{}", '{"model_list": [{}]}']) {
    await assert.rejects(
      mlc.fetchAppConfig(`data:text/html,${encodeURIComponent(page)}`),
      { name: "CorruptFileError", param: "url" },
    );
  }
});

Deno.test("what is kept can be asked for and deleted", async () => {
  const appConfig = { model_list: [RECORD], cacheBackend: "memory" as const };
  assert.equal(await mlc.hasModelInCache("tiny", appConfig), false);
  await mlc.deleteModelAllInfoInCache("tiny", appConfig);
  await assert.rejects(mlc.hasModelInCache("none", appConfig), mlc.NotFoundError);
});

/** The files of `modelFolder()` as a user chooses them. */
function chosenFiles(leaveOut = "none"): File[] {
  return Object.entries(modelFolder("")).filter(([name]) => name !== leaveOut).map(
    ([name, content]) => new File([content as Uint8Array<ArrayBuffer>], name),
  );
}

const chosenConfig = (record: object): mlc.MLCEngineConfig => ({
  ...CONFIG,
  appConfig: {
    model_list: [{ ...RECORD, model: "", ...record } as mlc.ModelRecord],
    cacheBackend: "memory",
  },
});

Deno.test("a folder that the user chose is loaded where it is", async () => {
  const files = chosenFiles();
  const { engine, server, seen } = await made(chosenConfig({ files, model_lib: "lib.wasm" }));
  assert.equal(seen.loads[0]?.library, 77);
  assert.equal(seen.loads[0]?.config.context_window_size, 32);
  assert.deepEqual(server.asked.map(({ url }) => url), [`${ORIGIN}mlc_llm.wasm`]);
  await engine.reload("tiny");
  assert.equal(seen.loads.length, 1);
});

Deno.test("a chosen folder's library may come from its URL", async () => {
  const { server, seen } = await made(chosenConfig({ files: chosenFiles("lib.wasm") }));
  assert.equal(seen.loads[0]?.library, 77);
  assert.ok(server.asked.some(({ url }) => url === RECORD.model_lib));
});

Deno.test("a chosen folder that is no model's folder is refused by name", async () => {
  const files = chosenFiles("mlc-chat-config.json");
  await assert.rejects(
    made(chosenConfig({ files, model_lib: "lib.wasm" })),
    (error) => error instanceof mlc.NotFoundError && error.param === "files",
  );
  const wrongName = chosenConfig({ files: chosenFiles(), model_lib: "other.wasm" });
  await assert.rejects(
    made(wrongName),
    (error) => error instanceof mlc.InvalidRequestError && error.param === "model_lib",
  );
  const noWeights = chosenFiles("params_shard_0.bin");
  await assert.rejects(
    made(chosenConfig({ files: noWeights, model_lib: "lib.wasm" })),
    mlc.MLCError,
  );
});

Deno.test("a browser without WebGPU loads the library of wasm SIMD, if there is one", async () => {
  const { fake, server, runtime } = setUp();
  server.files.set(`${ORIGIN}tiny/cpu.wasm`, new Uint8Array(55));
  const features = () => Promise.resolve({ jspi: false, webgpu: false });
  const create = (change: object) => {
    const model_list = [{ ...RECORD, device: "webgpu", ...change }];
    const config = { ...CONFIG, appConfig: { model_list, cacheBackend: "memory" as const } };
    return mlc.CreateMLCEngine("tiny", config, undefined, { ...runtime, features });
  };
  await assert.rejects(create({}), /WebGPU/);
  assert.equal(server.asked.length, 0);
  const engine = await create({ model_lib_cpu: `${ORIGIN}tiny/cpu.wasm` });
  assert.equal(fake.seen.loads[0]?.library, 55);
  assert.ok(!server.asked.some(({ url }) => url === RECORD.model_lib));
  await engine.reload("tiny");
  assert.equal(fake.seen.loads.length, 1);
  const integrity = { model_lib_cpu: "sha256-AAAA" };
  const library = { model_lib_cpu: `${ORIGIN}tiny/cpu.wasm?2`, integrity };
  server.files.set(library.model_lib_cpu, new Uint8Array(55));
  await assert.rejects(create(library), mlc.IntegrityError);
});
