/** The commands of tests/bindings/README.md. */

import { tool } from "../../../bindings/web/src/chat/tool_loop.ts";
import { Channel } from "../../../bindings/web/src/engine/channel.ts";
import { EngineRoutes } from "../../../bindings/web/src/engine/routes.ts";
import { MLCError } from "../../../bindings/web/src/errors.ts";
import type { ChatCompletionRequest } from "../../../bindings/web/src/protocol/types.gen.ts";
import { NativeBackend } from "./native.ts";
import { Options } from "./options.ts";
import { runVectors } from "./runner.ts";

const LONG = { debug_config: { ignore_eos: true } };
const CONFIG = { mode: "local", max_num_sequence: 16, prefix_cache_mode: "disable" };
const ROOM = { max_total_seq_length: 32768 };

type Made = { backend: NativeBackend; engine: EngineRoutes };

async function make(options: Options, more: object = {}): Promise<Made> {
  const model = options.modelSpec();
  const backend = await NativeBackend.load(model, { ...CONFIG, ...more });
  return { backend, engine: new EngineRoutes(new Channel(() => backend)) };
}

async function using<T>(
  options: Options,
  work: (engine: EngineRoutes, backend: NativeBackend) => Promise<T>,
  more: object = {},
): Promise<T> {
  const { backend, engine } = await make(options, more);
  try {
    return await work(engine, backend);
  } finally {
    await backend.close();
  }
}

function ask(prompt: string, more: Partial<ChatCompletionRequest> = {}): ChatCompletionRequest {
  return { messages: [{ role: "user", content: prompt }], ...more };
}

/** The request of `stream` and `complete`. */
function asked(options: Options): ChatCompletionRequest {
  return ask(options.text("prompt"), {
    seed: options.number("seed"),
    max_tokens: options.number("max-tokens"),
    temperature: options.number("temperature"),
    ...(options.number("ignore-eos") ? LONG : {}),
  });
}

/** A streamed answer, put together. */
async function read(engine: EngineRoutes, request: ChatCompletionRequest) {
  const out = { text: "", finish_reason: null as string | null, chunks: 0 };
  const usage: Record<string, number> = {};
  const stream_options = { include_usage: true };
  const create = engine.chat.completions;
  for await (const chunk of await create.create({ ...request, stream: true, stream_options })) {
    out.chunks += 1;
    for (const choice of chunk.choices) {
      out.text += choice.delta.content ?? "";
      out.finish_reason = choice.finish_reason ?? out.finish_reason;
    }
    if (chunk.usage) {
      usage["prompt_tokens"] = chunk.usage.prompt_tokens;
      usage["completion_tokens"] = chunk.usage.completion_tokens;
    }
  }
  return { ...out, ...usage } as typeof out & { completion_tokens: number };
}

async function whole(engine: EngineRoutes, request: ChatCompletionRequest) {
  return await engine.chat.completions.create({ ...request, stream: false });
}

function complete(options: Options) {
  return using(options, async (engine) => {
    const { choices: [choice], usage } = await whole(engine, asked(options));
    return {
      text: choice?.message.content,
      finish_reason: choice?.finish_reason,
      chunks: 1,
      prompt_tokens: usage?.prompt_tokens,
      completion_tokens: usage?.completion_tokens,
    };
  });
}

function embed(options: Options) {
  return using(options, async (engine) => {
    const prompt = options.text("prompt");
    const both = await engine.embeddings.create({ input: [prompt, `${prompt} 2`] });
    const short = { input: prompt, dimensions: 8, encoding_format: "base64" } as const;
    return {
      vectors: both.data.map((item) => item.embedding),
      base64: (await engine.embeddings.create(short)).data[0]?.embedding,
      prompt_tokens: both.usage.prompt_tokens,
    };
  });
}

function rerank(options: Options) {
  return using(options, async (engine) => {
    const query = options.text("prompt");
    const documents = [query, `${query} 2`, { text: "no" }];
    const best = await engine.rerank.create({
      query,
      documents,
      top_n: 2,
      return_documents: true,
    });
    const raw = await engine.rerank.create({ query, documents, raw_scores: true });
    return {
      best: best.results.map((item) => [item.index, item.relevance_score, item.document?.text]),
      raw: raw.results.map((item) => item.relevance_score),
      prompt_tokens: best.usage.prompt_tokens,
    };
  });
}

function continueText(options: Options) {
  return using(options, async (engine) => {
    const request = {
      prompt: options.text("prompt"),
      seed: options.number("seed"),
      max_tokens: options.number("max-tokens"),
    };
    let text = "", finish_reason: string | null | undefined;
    for await (const chunk of await engine.completions.create({ ...request, stream: true })) {
      text += chunk.choices[0]?.text ?? "";
      finish_reason = chunk.choices[0]?.finish_reason;
    }
    const answer = await engine.completions.create({ ...request, stream: false });
    return { text, finish_reason, whole: answer.choices[0]?.text };
  });
}

function cancel(options: Options) {
  return using(options, async (engine, backend) => {
    const prompt = options.text("prompt");
    const request = ask(prompt, { max_tokens: 4000, seed: 1, ...LONG });
    let chunks = 0;
    for await (const _ of await engine.chat.completions.create({ ...request, stream: true })) {
      if (++chunks === 3) break;
    }
    const deadline = Date.now() + 60_000;
    let metrics = JSON.parse(await backend.metrics());
    while (metrics.kv_pages_free !== metrics.kv_pages_total && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      metrics = JSON.parse(await backend.metrics());
    }
    const after = await read(engine, ask(prompt, { max_tokens: 8, seed: 1 }));
    return {
      chunks_before_cancel: chunks,
      pages_total: metrics.kv_pages_total,
      pages_free: metrics.kv_pages_free,
      answer_after: after.text,
    };
  });
}

async function parallel(options: Options) {
  const made = await Promise.all([make(options), make(options)]);
  const texts = Array.from({ length: 8 }, async (_, i) => {
    const engine = made[i < 4 ? 0 : 1].engine;
    const request = ask(`${options.text("prompt")} ${i}`, { max_tokens: 24, seed: i });
    return (await read(engine, request)).text;
  });
  const found = await Promise.all(texts);
  for (const { backend } of made) await backend.close();
  return { texts: found };
}

function tools(options: Options) {
  const request = JSON.parse(options.text("request")) as ChatCompletionRequest;
  return using(options, async (engine) => {
    const calls: { name: string; arguments: string }[] = [];
    let reason: string | null = null, pieces = 0;
    for await (const chunk of await engine.chat.completions.create({ ...request, stream: true })) {
      const choice = chunk.choices[0];
      reason = choice?.finish_reason ?? reason;
      for (const delta of choice?.delta.tool_calls ?? []) {
        const made = calls[delta.index] ??= { name: "", arguments: "" };
        made.name += delta.function?.name ?? "";
        made.arguments += delta.function?.arguments ?? "";
        if (!delta.id && delta.function?.arguments) pieces += 1;
      }
    }
    const message = (await whole(engine, request)).choices[0]?.message;
    const expected = (message?.tool_calls ?? []).map((call) => call.function);
    const same = JSON.stringify(calls) === JSON.stringify(expected);
    return { calls, finish_reason: reason, pieces, same };
  });
}

const LIGHT = {
  type: "object",
  properties: { room: { enum: ["bath", "kitchen"] }, on: { type: "boolean" } },
  required: ["room", "on"],
  additionalProperties: false,
} as const;

function runTools(options: Options) {
  const calls: { room: string; on: boolean }[] = [];
  const switchLight = tool({
    name: "switch_light",
    description: "Switches a light on or off.",
    parameters: LIGHT,
    run({ room, on }) {
      calls.push({ room, on });
      return `The light in the ${room} is ${on ? "on" : "off"}.`;
    },
  });
  const request = ask(options.text("prompt"), { temperature: 0, max_tokens: 60 });
  return using(options, async ({ chat: { completions } }) => {
    let text = "", ends = {};
    const results: string[] = [];
    const loop = { ...request, tools: [switchLight], tool_choice: "required" } as const;
    for await (const event of completions.streamTools(loop, { maxCalls: 2 })) {
      if (event.type === "text") text += event.text;
      if (event.type === "result") results.push(event.result.content);
      if (event.type === "end") {
        const { content, messages, numCalls } = event.run;
        ends = { content, roles: messages.map((m) => m.role), num_calls: numCalls };
      }
    }
    const typed = await completions.parse({ ...request, schema: LIGHT });
    return { calls, results, text, ...ends, light: typed.choices[0]?.message.parsed };
  });
}

function adapter(options: Options) {
  const prompt = options.text("prompt"), path = options.text("adapter");
  const say = async (engine: EngineRoutes, lora?: ChatCompletionRequest["lora"]) => {
    const answer = await whole(
      engine,
      ask(prompt, { max_tokens: 8, temperature: 0, lora, ...LONG }),
    );
    return answer.choices[0]?.message.content;
  };
  return using(options, async (engine) => {
    const plain = await say(engine);
    const full = await engine.loadAdapter("style", path);
    const named = await say(engine, "style");
    const scaled = await say(engine, [{ name: "style", scale: 0 }]);
    const listed = (await engine.adapters()).adapters.map(({ name, rank }) => [name, rank]);
    const empty = await engine.unloadAdapter("style");
    const free = [full.free_ranks, empty.free_ranks];
    return { plain, named, scaled, listed, free, error: await failure(() => say(engine, "style")) };
  }, { lora_ranks: 16 });
}

/** The typed error with which it fails, or its lack. */
async function failure(work: () => Promise<unknown>) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof MLCError)) throw error;
    const { type, code, param, status, message } = error;
    return { type, code, param, status, message };
  }
  return { type: null };
}

function loadError(options: Options) {
  return failure(() => using(options, () => Promise.resolve()));
}

function order(options: Options) {
  const max_tokens = options.number("tokens") ?? 10000;
  const request = ask("order", { max_tokens, seed: 1, ...LONG });
  return using(options, async (engine) => {
    const { chunks, completion_tokens, text } = await read(engine, request);
    const same = (await whole(engine, request)).choices[0]?.message.content === text;
    return { chunks, completion_tokens, text, same };
  }, ROOM);
}

function bench(options: Options) {
  const tokens = options.number("tokens") ?? 256, streams = options.number("streams") ?? 1;
  const task = async (engine: EngineRoutes, i: number) => {
    const request = ask(`bench ${i}`, { max_tokens: tokens, seed: i, ...LONG });
    let chunks = 0;
    for await (const chunk of await engine.chat.completions.create({ ...request, stream: true })) {
      void chunk.choices[0]?.delta.content;
      chunks += 1;
    }
    return chunks;
  };
  return using(options, async (engine) => {
    const numbers: number[] = [];
    let chunks = 0;
    for (let repeat = 0; repeat <= (options.number("repeats") ?? 9); repeat++) {
      const begin = performance.now();
      const tasks = Array.from({ length: streams }, (_, i) => task(engine, i));
      chunks = (await Promise.all(tasks)).reduce((a, b) => a + b, 0);
      numbers.push((performance.now() - begin) * 1000 / chunks);
    }
    return { streams, tokens, chunks, us_per_chunk: numbers.slice(1) };
  }, ROOM);
}

const COMMANDS: Record<string, (options: Options) => Promise<object>> = {
  stream: (options) => using(options, (engine) => read(engine, asked(options))),
  complete,
  embed,
  rerank,
  continue: continueText,
  cancel,
  parallel,
  tools,
  "run-tools": runTools,
  adapter,
  "load-error": loadError,
  order,
  bench,
  vectors: (options) =>
    using(options, (engine, backend) => runVectors(options.folder, engine, backend)),
};

const [name = "", ...rest] = Deno.args;
const command = COMMANDS[name];
if (!command) throw new Error(`there is no command ${name}`);
console.log(JSON.stringify(await command(new Options(rest))));
