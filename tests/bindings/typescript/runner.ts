/** Runs the conformance vectors (tests/bindings/vectors/README.md) over the TypeScript types. */

import { AnswerFold } from "../../../bindings/web/src/chat/answer_fold.ts";
import type { EngineRoutes } from "../../../bindings/web/src/engine/routes.ts";
import * as errors from "../../../bindings/web/src/errors.ts";
import * as codecs from "../../../bindings/web/src/protocol/codecs.gen.ts";
import type {
  ChatCompletionChunk,
  ChatCompletionRequest,
} from "../../../bindings/web/src/protocol/types.gen.ts";
import { type Codec, decode, encode, variantOf } from "../../../bindings/web/src/protocol/wire.ts";
import { BUILT } from "./builders.ts";
import type { NativeBackend } from "./native.ts";
import { check, codecAt, type Json, read, without } from "./paths.ts";
import { runToolCase } from "./tool_cases.ts";

function codecOf(name: string): Codec {
  const codec = (codecs as unknown as Record<string, Codec>)[name];
  if (!codec) throw new Error(`there is no type ${name}`);
  return codec;
}

function checkError(error: unknown, kase: Json): void {
  if (!(error instanceof errors.MLCError)) throw error;
  check("error", { status: null, ...error.toJSON().error }, kase.error);
  check("class", error.name, kase.class.typescript);
}

class Runner {
  constructor(private readonly engine: EngineRoutes, private readonly backend: NativeBackend) {}

  value(kase: Json): void {
    const codec = codecOf(kase.type), typed: Json = decode(codec, kase.json);
    const encoded = JSON.parse(JSON.stringify(typed));
    check("encoded", without(encoded, kase.ignore), without(kase.canonical, kase.ignore));
    for (const [path, expected] of Object.entries(kase.fields)) {
      check(path, read(typed, path), expected);
    }
    for (const [path, expected] of Object.entries(kase.variants)) {
      const found = variantOf(codecAt(codec, typed, path), read(typed, path));
      check(`variant at ${path}`, found?.name, expected);
    }
    for (const path of kase.unknown_words) {
      const at = codecAt(codec, typed, path);
      const isKnown = at.kind !== "words" || at.words.includes(read(typed, path));
      check(`${path} is known`, isKnown, false);
    }
  }

  invalid(kase: Json): void {
    try {
      decode(codecOf(kase.type), kase.json);
    } catch {
      return;
    }
    throw new Error("was decoded");
  }

  stream(kase: Json): void {
    const chunks: Json[] = kase.chunks.map((chunk: Json) => decode(codecOf(kase.type), chunk));
    for (const [key, got] of Object.entries(collect(chunks))) check(key, got, kase[key]);
    for (const [path, expected] of Object.entries(kase.fields)) {
      check(path, read(chunks, path), expected);
    }
  }

  error(kase: Json): void {
    checkError(errors.errorFromJson(kase.json), kase);
  }

  async fault(kase: Json): Promise<void> {
    const event = await new Promise<Json>((resolve) => {
      this.backend.submit(kase.route, kase.body, resolve);
    });
    check("kind", event.kind, "error");
    checkError(errors.errorFromJson(JSON.parse(event.json)), kase);
  }

  async answer(kase: Json): Promise<void> {
    const request = decode(codecOf(kase.type), kase.json) as ChatCompletionRequest;
    const { completions } = this.engine.chat;
    const stream_options = { include_usage: true };
    const chunks: ChatCompletionChunk[] = [];
    const stream = await completions.create({ ...request, stream: true, stream_options });
    for await (const chunk of stream) chunks.push(chunk);
    const whole = await completions.create({ ...request, stream: false });
    const { texts, finish_reasons, usage } = collect(chunks);
    const byChoice = (value: (choice: typeof whole.choices[0]) => unknown) =>
      Object.fromEntries(whole.choices.map((choice) => [choice.index, value(choice)]));
    for (
      const [text, reason, counts] of [
        [texts, finish_reasons, usage],
        [byChoice((c) => c.message.content), byChoice((c) => c.finish_reason), whole.usage],
      ]
    ) {
      check("texts", text, kase.texts);
      check("finish_reasons", reason, kase.finish_reasons);
      const three = Object.keys(kase.usage).map((key) => [key, (counts as Json)[key]]);
      check("usage", Object.fromEntries(three), kase.usage);
    }
    const fold = new AnswerFold();
    for (const chunk of chunks) fold.add(chunk);
    check("put together", fold.completion().choices, whole.choices);
  }

  async tools(kase: Json): Promise<void> {
    try {
      await runToolCase(kase);
    } catch (error) {
      if (!kase.error) throw error;
      checkError(error, kase);
    }
  }

  build(kase: Json): void {
    const built = JSON.parse(encode(BUILT[kase.name] ?? null));
    check("built", without(built, kase.ignore), without(kase.json, kase.ignore));
  }
}

/** What a stream says, put together by choice. */
function collect(chunks: ChatCompletionChunk[]): Record<string, Json> {
  const texts: Json = {}, finish_reasons: Json = {}, roles: Json = {}, tool_calls: Json = {};
  let usage: Json = null;
  for (const chunk of chunks) {
    usage = chunk.usage ?? usage;
    for (const { index, delta, finish_reason } of chunk.choices) {
      if (delta.content != null) texts[index] = (texts[index] ?? "") + delta.content;
      if (finish_reason != null) finish_reasons[index] = finish_reason;
      if (delta.role != null) roles[index] ??= delta.role;
      for (const piece of delta.tool_calls ?? []) {
        const calls = tool_calls[index] ??= [];
        while (calls.length <= piece.index) calls.push({ id: "", name: "", arguments: "" });
        calls[piece.index].id += piece.id ?? "";
        calls[piece.index].name += piece.function?.name ?? "";
        calls[piece.index].arguments += piece.function?.arguments ?? "";
      }
    }
  }
  return { texts, finish_reasons, roles, tool_calls, usage };
}

export async function runVectors(folder: string, engine: EngineRoutes, backend: NativeBackend) {
  const runner: Json = new Runner(engine, backend);
  const failures: { name: string; why: string }[] = [];
  let passed = 0;
  for (const file of [...Deno.readDirSync(`${folder}/cases`)].map(({ name }) => name).sort()) {
    const { cases } = JSON.parse(Deno.readTextFileSync(`${folder}/cases/${file}`));
    for (const kase of cases) {
      try {
        await runner[kase.kind](kase);
        passed += 1;
      } catch (error) {
        failures.push({ name: kase.name, why: String(error) });
      }
    }
  }
  return { passed, failed: failures.length, failures };
}
