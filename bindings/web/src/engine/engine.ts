/** The engine: loads models and answers requests; WebLLM's functions beside our own. */

import type { HelpedChatCompletions } from "../chat/completions.ts";
import type { HelpedCompletions } from "../chat/text_completions.ts";
import type { HelpedEmbeddings } from "../chat/embeddings.ts";
import type { Host, InitProgressReport, ModelRecord } from "../host/host.ts";
import type { LogitProcessorRegistry } from "../host/logit_processors.ts";
import {
  type AppConfig,
  type ChatOptions,
  defaultWasm,
  findModel,
  type MLCEngineConfig,
  prebuiltAppConfig,
} from "../webllm/config.ts";
import { InvalidRequestError } from "../errors.ts";
import { EngineMetrics } from "../protocol/codecs.gen.ts";
import type * as types from "../protocol/types.gen.ts";
import { decode } from "../protocol/wire.ts";
import { Channel } from "./channel.ts";
import { EngineRoutes } from "./routes.ts";

/** The texts of the last answers of the models; "" stands for any model. */
type LastAnswers = Map<string, { text: string }>;

/**
 *     const engine = await CreateMLCEngine("SmolLM2-135M", { appConfig });
 *     const request = { messages: [{ role: "user", content: "Hi" }], stream: true } as const;
 *     for await (const chunk of await engine.chat.completions.create(request)) ...
 *
 * Several requests at once share the model's steps.
 */
export class HostedEngine extends EngineRoutes {
  private appConfig: AppConfig;
  private onProgress: (report: InitProgressReport) => void;
  private loaded: ModelRecord[] = [];
  private readonly lastAnswers: LastAnswers;

  constructor(private readonly host: Host, private readonly config: MLCEngineConfig = {}) {
    const lastAnswers: LastAnswers = new Map();
    super(new Channel((model) => host.backend(model), (model) => keeper(lastAnswers, model)));
    this.lastAnswers = lastAnswers;
    this.appConfig = config.appConfig ?? prebuiltAppConfig;
    this.onProgress = config.initProgressCallback ?? (() => {});
    this.setLogitProcessorRegistry(config.logitProcessorRegistry);
  }

  /** The names of the loaded models. */
  get models(): readonly string[] {
    return this.loaded.map((record) => record.model_id);
  }

  setInitProgressCallback(callback: (report: InitProgressReport) => void): void {
    this.onProgress = callback;
  }

  getInitProgressCallback(): (report: InitProgressReport) => void {
    return this.onProgress;
  }

  setAppConfig(appConfig: AppConfig): void {
    this.appConfig = appConfig;
  }

  /** Loads these models in place of those that are loaded. */
  async reload(
    modelId: string | readonly string[],
    chatOpts?: ChatOptions | readonly ChatOptions[],
  ): Promise<void> {
    const ids = typeof modelId === "string" ? [modelId] : modelId;
    const given: readonly ChatOptions[] = chatOpts === undefined
      ? []
      : Array.isArray(chatOpts)
      ? chatOpts
      : [chatOpts as ChatOptions];
    if (given.length > 0 && given.length !== ids.length) {
      throw new InvalidRequestError(
        `reload: ${ids.length} models have ${given.length} chat options; give one for each`,
        { param: "chatOpts" },
      );
    }
    const records = ids.map((id) => findModel(this.appConfig, id));
    const { engineConfig = {}, wasm } = this.config;
    const models = records.map((record, i) => ({
      record,
      overrides: { ...given[i] },
      engineConfig,
    }));
    const { cacheBackend = "cache" } = this.appConfig;
    const request = { models, cacheBackend, wasm: wasm ?? defaultWasm() };
    this.loaded = [];
    this.lastAnswers.clear();
    await this.host.load(request, (report) => this.onProgress(report));
    this.loaded = records;
  }

  /** Ends all requests and frees the models. */
  async unload(): Promise<void> {
    this.loaded = [];
    await this.host.unload();
  }

  /** Ends all requests: their loops over chunks end, a call for a whole answer throws. */
  interruptGenerate(): void {
    this.channel.interrupt();
  }

  /**
   * Forgets a model's cached prompts and its metrics, and ends its requests. The conversation is
   * in each request, so there is nothing else to forget. `keepStats` cannot be kept from it.
   */
  async resetChat(_keepStats = false, modelId?: string): Promise<void> {
    this.lastAnswers.delete(modelId ?? "");
    await this.host.backend(modelId ?? null).reset();
  }

  /** The text of the last answer, as far as it has come. */
  getMessage(modelId?: string): Promise<string> {
    return Promise.resolve(this.lastAnswers.get(modelId ?? "")?.text ?? "");
  }

  /** The engine's counters. */
  async metrics(modelId?: string): Promise<types.EngineMetrics> {
    return decode(EngineMetrics, JSON.parse(await this.host.backend(modelId ?? null).metrics()));
  }

  /** The speed of the last request that has ended. */
  async runtimeStatsText(modelId?: string): Promise<string> {
    const { last_finished_request: last } = await this.metrics(modelId);
    const speed = (value: number | null | undefined) => (value ?? 0).toFixed(4);
    return `prefill: ${speed(last?.prefill_tokens_per_s)} tokens/sec, ` +
      `decoding: ${speed(last?.decode_tokens_per_s)} tokens/sec`;
  }

  async getMaxStorageBufferBindingSize(): Promise<number> {
    return (await this.host.info()).maxStorageBufferBytes;
  }

  async getGPUVendor(): Promise<string> {
    return (await this.host.info()).device;
  }

  /** The same as `chat.completions.create`. */
  readonly chatCompletion: HelpedChatCompletions["create"] = this.chat.completions.create.bind(
    this.chat.completions,
  ) as HelpedChatCompletions["create"];

  /** The same as `completions.create`. */
  readonly completion: HelpedCompletions["create"] = this.completions.create.bind(
    this.completions,
  ) as HelpedCompletions["create"];

  /** The same as `embeddings.create`. */
  readonly embedding: HelpedEmbeddings["create"] = this.embeddings.create.bind(
    this.embeddings,
  ) as HelpedEmbeddings["create"];

  /** Functions on the logits of models, by their ids; an answer at a time each. */
  setLogitProcessorRegistry(registry: LogitProcessorRegistry = new Map()): void {
    this.host.setLogitProcessors(registry);
  }

  /** The core writes no log; errors say what there is to say. */
  setLogLevel(_level: string): void {}
}

/** Keeps the text of one answer, from its first chunk on. */
function keeper(kept: LastAnswers, model: string | null): (answer: unknown) => void {
  const last = { text: "" };
  let hasBegun = false;
  return (answer) => {
    const { object, choices } = answer as types.ChatCompletion | types.ChatCompletionChunk;
    if (object !== "chat.completion" && object !== "chat.completion.chunk") return;
    if (!hasBegun) kept.set("", last).set(model ?? "", last);
    hasBegun = true;
    const choice = choices.find((choice) => choice.index === 0);
    if (choice) last.text += ("delta" in choice ? choice.delta : choice.message).content ?? "";
  };
}
