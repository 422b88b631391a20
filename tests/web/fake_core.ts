/** A core in memory: it reads a model's files, and answers each request with its own prompt. */

import {
  type ByteSource,
  type Core,
  type CoreEngine,
  CoreError,
  type CoreEvent,
  type CoreOptions,
  type LogitFunction,
  type ModelSpec,
} from "../../bindings/web/runtime/core.ts";
import { errorOf } from "../../bindings/web/runtime/errors.ts";
import { SCHEMA_HASH } from "../../bindings/web/src/protocol/types.gen.ts";

// deno-lint-ignore no-explicit-any -- JSON
type Json = any;

/** What the tests look at. */
export interface Seen {
  loads: { config: Json; library: number; engineConfig: Json }[];
  requests: Json[];
  aborted: number;
  destroyed: number;
  mostAtOnce: number;
}

export class FakeRuntime {
  readonly seen: Seen = { loads: [], requests: [], aborted: 0, destroyed: 0, mostAtOnce: 0 };
  /** By the name of the model. */
  readonly processors = new Map<string, LogitFunction>();
  schemaHash = SCHEMA_HASH;

  readonly loadCore = (_options: CoreOptions): Promise<Core> => {
    const sources = new Map<string, ByteSource>();
    const core: Partial<Core> = {
      schemaHash: this.schemaHash,
      features: { jspi: true, webgpu: false },
      mount: (folder, source) => void sources.set(folder, source),
      unmount: (folder) => void sources.delete(folder),
      createEngine: (config) => new FakeEngine(this, sources, config) as unknown as CoreEngine,
    };
    return Promise.resolve(core as Core);
  };
}

class FakeEngine {
  private readonly running = new Map<number, (event: CoreEvent) => void>();
  private lastId = 0;
  private model = "";
  private last: Json = null;

  private readonly seen: Seen;

  constructor(
    private readonly runtime: FakeRuntime,
    private readonly sources: Map<string, ByteSource>,
    private readonly engineConfig: Json,
  ) {
    this.seen = runtime.seen;
  }

  setLogitProcessor(_name: string, act: LogitFunction | null): void {
    if (act) this.runtime.processors.set(this.model, act);
    else this.runtime.processors.delete(this.model);
  }

  async load(spec: ModelSpec, onProgress?: (fraction: number, what: string) => unknown) {
    const source = this.sources.get(spec.model);
    if (!source) throw errorOf("not_found", "no such folder");
    const read = async (name: string) => {
      const size = source.size(name);
      if (size === undefined) throw errorOf("not_found", `${name} is missing`);
      return await source.read(name, 0, size);
    };
    const config = JSON.parse(new TextDecoder().decode(await read("mlc-chat-config.json")));
    const library = spec.model_lib ? (await read(spec.model_lib.split("/").pop()!)).length : 0;
    if (spec.model_lib) await read("params_shard_0.bin");
    onProgress?.(0.5, "weights");
    onProgress?.(1, "weights");
    this.model = spec.name ?? "";
    this.seen.loads.push({ config, library, engineConfig: this.engineConfig });
  }

  submit(route: string, body: string, onEvent: (event: CoreEvent) => void): number {
    const request = JSON.parse(body), id = ++this.lastId;
    const messages = request.messages ?? [{ content: request.prompt ?? "" }];
    if (messages.length === 0) {
      throw new CoreError({
        message: "messages: must have at least 1 item",
        type: "invalid_request_error",
        param: "messages",
        code: null,
        status: "invalid_argument",
      });
    }
    this.running.set(id, onEvent);
    this.seen.requests.push(request);
    this.seen.mostAtOnce = Math.max(this.seen.mostAtOnce, this.running.size);
    const words = String(messages.at(-1).content).split(/(?<= )/);
    void this.answer(id, route, request, words);
    return id;
  }

  abort(id: number): void {
    if (!this.running.has(id)) return;
    this.seen.aborted += 1;
    const failure = errorOf("request_cancelled", "aborted");
    this.end(id, { kind: "error", error: failure.body });
  }

  reset(): Promise<void> {
    for (const id of [...this.running.keys()]) this.abort(id);
    return Promise.resolve();
  }

  destroy(): Promise<void> {
    this.seen.destroyed += 1;
    return this.reset();
  }

  metrics(): Record<string, unknown> {
    return { num_steps: this.lastId, last_finished_request: this.last };
  }

  private async answer(id: number, route: string, request: Json, words: string[]) {
    const head = { id: `${this.model}-${id}`, created: 1, model: this.model };
    const extra = { decode_tokens_per_s: 2.5, end_to_end_latency_s: 3 };
    const usage = {
      prompt_tokens: 1,
      completion_tokens: words.length,
      total_tokens: 1,
      ...(request.usage_extra ? { extra } : {}),
    };
    if (route === "embeddings") {
      const inputs = Array.isArray(request.input) ? request.input : [request.input];
      const data = inputs.map((text: string, index: number) => ({
        object: "embedding",
        index,
        embedding: [text.length, 1],
      }));
      await turn();
      const json = JSON.stringify({ object: "list", model: this.model, data, usage });
      return this.end(id, { kind: "result", json });
    }
    for (const content of request.stream ? words : []) {
      await turn();
      const choices = [{ index: 0, delta: { content }, finish_reason: null, logprobs: null }];
      this.tell(id, { ...head, object: "chat.completion.chunk", choices });
    }
    await turn();
    this.last = { prefill_tokens_per_s: 10, decode_tokens_per_s: 2.5 };
    if (request.stream) {
      const choices = [{ index: 0, delta: {}, finish_reason: "stop", logprobs: null }];
      this.tell(id, { ...head, object: "chat.completion.chunk", choices, usage });
      return this.end(id, { kind: "done" });
    }
    if (route === "completions") {
      const choices = [{ index: 0, text: words.join(""), logprobs: null, finish_reason: "stop" }];
      const json = JSON.stringify({ ...head, object: "text_completion", choices, usage });
      return this.end(id, { kind: "result", json });
    }
    const message = { role: "assistant", content: words.join(""), refusal: null };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: "stop" }];
    const json = JSON.stringify({ ...head, object: "chat.completion", choices, usage });
    this.end(id, { kind: "result", json });
  }

  private tell(id: number, chunk: Json): void {
    this.running.get(id)?.({ kind: "chunk", json: JSON.stringify(chunk) });
  }

  private end(id: number, event: CoreEvent): void {
    const listen = this.running.get(id);
    this.running.delete(id);
    listen?.(event);
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
