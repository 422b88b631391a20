import assert from "node:assert/strict";
import * as mlc from "../../bindings/web/src/mod.ts";
import { stateUrls } from "../../bindings/web/src/host/saved_states.ts";
import { config, isBuilt, opfs, runtime } from "./wasm.ts";

const ask = (content: string, more: Partial<mlc.ChatCompletionRequest> = {}) => ({
  messages: [{ role: "user" as const, content }],
  max_tokens: 24,
  seed: 1,
  debug_config: { ignore_eos: true },
  ...more,
});
const CITY = {
  type: "object",
  properties: { name: { type: "string", maxLength: 8 }, large: { type: "boolean" } },
  required: ["name", "large"],
  additionalProperties: false,
} as const;

function real(name: string, work: (engine: mlc.MLCEngine) => Promise<void>): void {
  Deno.test({
    name,
    ignore: !isBuilt,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const engine = await mlc.CreateMLCEngine("one", config, undefined, runtime);
      try {
        await work(engine);
      } finally {
        await engine.unload();
      }
    },
  });
}

async function savedBytes(path: string): Promise<number | undefined> {
  const kept = await Promise.all(stateUrls(path).map((url) => runtime.stores?.opfs?.stat(url)));
  return kept.find((one) => one?.done)?.size;
}

async function streamed(engine: mlc.MLCEngine, request: mlc.ChatCompletionRequest) {
  let text = "";
  for await (const chunk of await engine.chat.completions.create({ ...request, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? "";
  }
  return text;
}

async function whole(engine: mlc.MLCEngine, request: mlc.ChatCompletionRequest) {
  return await engine.chat.completions.create({ ...request, stream: false });
}

async function allPagesFree(engine: mlc.MLCEngine): Promise<boolean> {
  for (let i = 0; i < 2000; i++) {
    const { kv_pages_free, num_running_sequences } = await engine.metrics();
    if (num_running_sequences === 0 && kv_pages_free !== undefined) return true;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return false;
}

real(
  "the core: a stream has the text of the whole answer, for each seed its own",
  async (engine) => {
    const [one, again, other] = [
      ask("hello"),
      ask("hello"),
      ask("hello", { seed: 2, temperature: 1.5 }),
    ];
    const text = await streamed(engine, one);
    assert.ok(text.length > 0);
    assert.equal((await whole(engine, again)).choices[0]?.message.content, text);
    assert.notEqual(await streamed(engine, other), text);
  },
);

real("a logit processor chooses the tokens, and its fault ends the answer", async (engine) => {
  const heard: number[] = [];
  let resets = 0;
  const processor: mlc.LogitProcessor = {
    processLogits: (logits) => logits.fill(-Infinity).fill(0, 65, 66),
    processSampledToken: (token) => heard.push(token),
    resetState: () => resets++,
  };
  const plain = await whole(engine, ask("Hi"));
  engine.setLogitProcessorRegistry(new Map([["one", processor]]));
  const { choices: [choice] } = await whole(engine, ask("Hi"));
  const text = choice?.message.content ?? "";
  assert.equal(text, text.slice(0, text.length / 24).repeat(24)); // one token, 24 times
  assert.equal(resets, 1);
  assert.deepEqual(heard, Array(23).fill(65));
  processor.processLogits = () => {
    throw new Error("no more");
  };
  await assert.rejects(whole(engine, ask("Hi")), (error: mlc.MLCError) => {
    assert.equal(error.code, "logit_processor_failed");
    return error.message.includes("no more");
  });
  engine.setLogitProcessorRegistry();
  const again = await whole(engine, ask("Hi"));
  assert.equal(again.choices[0]?.message.content, plain.choices[0]?.message.content);
});

real("the core: four at once are as alone, and share steps", async (engine) => {
  const requests = [0, 1, 2, 3].map((i) => ask(`request ${i}`, { seed: i }));
  const alone = [];
  for (const request of requests) alone.push(await streamed(engine, request));
  const before = (await engine.metrics()).num_steps ?? 0;
  assert.deepEqual(await Promise.all(requests.map((request) => streamed(engine, request))), alone);
  const steps = ((await engine.metrics()).num_steps ?? 0) - before;
  assert.ok(steps < 4 * 24, `${steps} steps for 4 answers of 24 tokens`);
});

real("the core: an aborted request ends once, its pages are freed", async (engine) => {
  const abort = new AbortController();
  const long = ask("long", { max_tokens: 4000 });
  const read = async () => {
    const request = { ...long, stream: true as const };
    const stream = await engine.chat.completions.create(request, { signal: abort.signal });
    for await (const _ of stream) abort.abort();
  };
  await assert.rejects(read(), mlc.CancelledError);
  assert.ok(await allPagesFree(engine));
  assert.ok(await streamed(engine, ask("next")));
});

real("the core: an answer fits its schema", async (engine) => {
  const answer = await engine.chat.completions.parse({
    ...ask("a city", { max_tokens: 200 }),
    schema: CITY,
  });
  const city = answer.choices[0]?.message.parsed;
  assert.equal(typeof city?.name, "string");
  assert.equal(typeof city?.large, "boolean");
});

real("the core: a tool is called with arguments that fit", async (engine) => {
  const seen: { name: string; large: boolean }[] = [];
  const look = mlc.tool({ name: "look", parameters: CITY, run: (city) => void seen.push(city) });
  const request = {
    ...ask("look", { max_tokens: 200 }),
    tools: [look],
    tool_choice: "required" as const,
  };
  const run = await engine.chat.completions.runTools(request, { maxCalls: 1 });
  assert.equal(seen.length, 1);
  assert.deepEqual(Object.keys(seen[0]!).sort(), ["large", "name"]);
  assert.deepEqual(run.messages.slice(0, 3).map((message) => message.role), [
    "user",
    "assistant",
    "tool",
  ]);
});

real("the core: embeddings, continuations, tokens, logprobs, a refusal", async (engine) => {
  const { data } = await engine.embeddings.create({ input: ["a", "b"] });
  assert.equal(data.length, 2);
  const done = await engine.completions.create({ prompt: "once", max_tokens: 5, seed: 1 });
  assert.ok(done.choices[0]?.text);
  const { tokens } = await engine.tokenize({ text: "hello" } as never);
  assert.ok(tokens.length > 0);
  const count = await engine.inputTokens(
    { messages: [{ role: "user", content: "hello" }] } as never,
  );
  assert.ok(count.input_tokens > 0);
  const logs = await whole(engine, ask("x", { logprobs: true, top_logprobs: 2, max_tokens: 2 }));
  assert.equal(logs.choices[0]?.logprobs?.content?.[0]?.top_logprobs.length, 2);
  await assert.rejects(
    whole(engine, ask("x", { temperature: -1 })),
    (error) => error instanceof mlc.InvalidRequestError && error.param === "temperature",
  );
});

real("the core: a stop string ends the answer before it", async (engine) => {
  const text = await streamed(engine, ask("hello"));
  const stop = text.slice(6, 9);
  const { choices } = await whole(engine, ask("hello", { stop: [stop] }));
  assert.equal(choices[0]?.message.content, text.slice(0, text.indexOf(stop)));
  assert.equal(choices[0]?.finish_reason, "stop");
  assert.ok(await allPagesFree(engine));
});

real(
  "the core: a saved state is kept in the site's files and found after a reload",
  async (engine) => {
    const messages = [{ role: "user" as const, content: "a long question ".repeat(20) }];
    const path = "chat 1/ä";
    const saved = await engine.kvSave({ path, messages });
    assert.equal(await savedBytes(path), saved.bytes);
    await engine.reload("two");
    const loaded = await engine.kvLoad({ path });
    assert.ok(loaded.tokens > 0 && loaded.tokens <= saved.tokens, `${loaded.tokens}`);
    await assert.rejects(
      engine.kvLoad({ path: "another" }),
      (error) => error instanceof mlc.MLCError && error.code === "file_not_found",
    );
    await assert.rejects(engine.kvLoad({} as never), mlc.InvalidRequestError);
  },
);

real(
  "the core: a state for which there is no room is a typed error, and nothing stays",
  async (engine) => {
    const path = "too large", messages = [{ role: "user" as const, content: "a long question" }];
    opfs.room = 10;
    try {
      await assert.rejects(engine.kvSave({ path, messages }), mlc.QuotaError);
    } finally {
      opfs.room = Infinity;
    }
    assert.equal(await savedBytes(path), undefined);
  },
);

real("the core: two models answer, and loads leave nothing behind", async (engine) => {
  await engine.reload(["one", "two"]);
  assert.ok(await streamed(engine, ask("hi", { model: "two" })));
  for (let i = 0; i < 5; i++) await engine.reload(i % 2 ? "one" : "two");
  assert.ok(await streamed(engine, ask("hi")));
});
