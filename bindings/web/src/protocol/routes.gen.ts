// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// The typed functions of each route. Their parameters are described at the types of the requests.

import type { AnswerStream, Channel, RequestOptions } from "../engine/channel.ts";
import * as codecs from "./codecs.gen.ts";
import type * as types from "./types.gen.ts";

/** A `ChatCompletionRequest` whose answer comes in chunks. */
export type ChatCompletionRequestStreaming = types.ChatCompletionRequest & { stream: true };

/** A `ChatCompletionRequest` whose answer comes whole. */
export type ChatCompletionRequestNonStreaming = types.ChatCompletionRequest & {
  stream?: false | null;
};

/** `ChatCompletions`: sends a `ChatCompletionRequest`. */
export class ChatCompletions {
  protected readonly channel: Channel;

  constructor(channel: Channel) {
    this.channel = channel;
  }

  /**
   * The chunks in order (`stream: true`), or the whole answer. A failure throws an `MLCError`.
   * Leaving the loop, and aborting `options.signal`, ends the request.
   */
  create(
    request: ChatCompletionRequestStreaming,
    options?: RequestOptions,
  ): Promise<AnswerStream<types.ChatCompletionChunk>>;
  create(
    request: ChatCompletionRequestNonStreaming,
    options?: RequestOptions,
  ): Promise<types.ChatCompletion>;
  create(
    request: types.ChatCompletionRequest,
    options?: RequestOptions,
  ): Promise<AnswerStream<types.ChatCompletionChunk> | types.ChatCompletion>;
  create(
    request: types.ChatCompletionRequest,
    options?: RequestOptions,
  ): Promise<AnswerStream<types.ChatCompletionChunk> | types.ChatCompletion> {
    return request.stream === true
      ? this.channel.stream("chat.completions", request, codecs.ChatCompletionChunk, options)
      : this.channel.result("chat.completions", request, codecs.ChatCompletion, options);
  }
}

/** A `CompletionRequest` whose answer comes in chunks. */
export type CompletionRequestStreaming = types.CompletionRequest & { stream: true };

/** A `CompletionRequest` whose answer comes whole. */
export type CompletionRequestNonStreaming = types.CompletionRequest & {
  stream?: false | null;
};

/** `Completions`: sends a `CompletionRequest`. */
export class Completions {
  protected readonly channel: Channel;

  constructor(channel: Channel) {
    this.channel = channel;
  }

  /**
   * The chunks in order (`stream: true`), or the whole answer. A failure throws an `MLCError`.
   * Leaving the loop, and aborting `options.signal`, ends the request.
   */
  create(
    request: CompletionRequestStreaming,
    options?: RequestOptions,
  ): Promise<AnswerStream<types.Completion>>;
  create(
    request: CompletionRequestNonStreaming,
    options?: RequestOptions,
  ): Promise<types.Completion>;
  create(
    request: types.CompletionRequest,
    options?: RequestOptions,
  ): Promise<AnswerStream<types.Completion> | types.Completion>;
  create(
    request: types.CompletionRequest,
    options?: RequestOptions,
  ): Promise<AnswerStream<types.Completion> | types.Completion> {
    return request.stream === true
      ? this.channel.stream("completions", request, codecs.Completion, options)
      : this.channel.result("completions", request, codecs.Completion, options);
  }
}

/** `Embeddings`: sends a `EmbeddingRequest`. */
export class Embeddings {
  protected readonly channel: Channel;

  constructor(channel: Channel) {
    this.channel = channel;
  }

  /** The answer. A failure throws an `MLCError`. Aborting `options.signal` ends the request. */
  create(request: types.EmbeddingRequest, options?: RequestOptions): Promise<types.EmbeddingResponse> {
    return this.channel.result("embeddings", request, codecs.EmbeddingResponse, options);
  }
}

/** `Rerank`: sends a `RerankRequest`. */
export class Rerank {
  protected readonly channel: Channel;

  constructor(channel: Channel) {
    this.channel = channel;
  }

  /** The answer. A failure throws an `MLCError`. Aborting `options.signal` ends the request. */
  create(request: types.RerankRequest, options?: RequestOptions): Promise<types.RerankResponse> {
    return this.channel.result("rerank", request, codecs.RerankResponse, options);
  }
}

/** The routes that give one answer and are never streamed. */
export class Calls {
  protected readonly channel: Channel;

  constructor(channel: Channel) {
    this.channel = channel;
  }

  /** `tokenize`: one answer, all at once; a failure throws an `MLCError`. */
  tokenize(request: types.TokenizeRequest, options?: RequestOptions): Promise<types.TokenizeResponse> {
    return this.channel.result("tokenize", request, codecs.TokenizeResponse, options);
  }

  /** `detokenize`: one answer, all at once; a failure throws an `MLCError`. */
  detokenize(request: types.DetokenizeRequest, options?: RequestOptions): Promise<types.DetokenizeResponse> {
    return this.channel.result("detokenize", request, codecs.DetokenizeResponse, options);
  }

  /** `render`: one answer, all at once; a failure throws an `MLCError`. */
  render(request: types.ChatCompletionRequest, options?: RequestOptions): Promise<types.RenderResponse> {
    return this.channel.result("render", request, codecs.RenderResponse, options);
  }

  /** `inputTokens`: one answer, all at once; a failure throws an `MLCError`. */
  inputTokens(request: types.ChatCompletionRequest, options?: RequestOptions): Promise<types.InputTokensResponse> {
    return this.channel.result("input_tokens", request, codecs.InputTokensResponse, options);
  }

  /** `kvSave`: one answer, all at once; a failure throws an `MLCError`. */
  kvSave(request: types.KVSaveRequest, options?: RequestOptions): Promise<types.KVSaveResponse> {
    return this.channel.result("kv.save", request, codecs.KVSaveResponse, options);
  }

  /** `kvLoad`: one answer, all at once; a failure throws an `MLCError`. */
  kvLoad(request: types.KVLoadRequest, options?: RequestOptions): Promise<types.KVLoadResponse> {
    return this.channel.result("kv.load", request, codecs.KVLoadResponse, options);
  }

  /** `kvHeld`: one answer, all at once; a failure throws an `MLCError`. */
  kvHeld(request: types.KVHeldRequest, options?: RequestOptions): Promise<types.KVHeldResponse> {
    return this.channel.result("kv.held", request, codecs.KVHeldResponse, options);
  }

  /** `memoryTrim`: one answer, all at once; a failure throws an `MLCError`. */
  memoryTrim(request: types.TrimRequest, options?: RequestOptions): Promise<types.TrimResponse> {
    return this.channel.result("memory.trim", request, codecs.TrimResponse, options);
  }

  /** `prewarm`: one answer, all at once; a failure throws an `MLCError`. */
  prewarm(request: types.PrewarmRequest, options?: RequestOptions): Promise<types.PrewarmResponse> {
    return this.channel.result("prewarm", request, codecs.PrewarmResponse, options);
  }

  /** `thermalSet`: one answer, all at once; a failure throws an `MLCError`. */
  thermalSet(request: types.ThermalHint, options?: RequestOptions): Promise<types.ThermalLimits> {
    return this.channel.result("thermal.set", request, codecs.ThermalLimits, options);
  }

  /** `adaptersLoad`: one answer, all at once; a failure throws an `MLCError`. */
  adaptersLoad(request: types.AdapterLoadRequest, options?: RequestOptions): Promise<types.AdapterList> {
    return this.channel.result("adapters.load", request, codecs.AdapterList, options);
  }

  /** `adaptersUnload`: one answer, all at once; a failure throws an `MLCError`. */
  adaptersUnload(request: types.AdapterUnloadRequest, options?: RequestOptions): Promise<types.AdapterList> {
    return this.channel.result("adapters.unload", request, codecs.AdapterList, options);
  }

  /** `adaptersList`: one answer, all at once; a failure throws an `MLCError`. */
  adaptersList(request: types.AdapterListRequest, options?: RequestOptions): Promise<types.AdapterList> {
    return this.channel.result("adapters.list", request, codecs.AdapterList, options);
  }
}
