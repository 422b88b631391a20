/** WebLLM's names of types that have another name here. */

import type { AnswerStream } from "../engine/channel.ts";
import type { MLCEngine } from "../engine/engine.ts";
import type * as types from "../protocol/types.gen.ts";

export type MLCEngineInterface = MLCEngine;
export type WebWorkerMLCEngine = MLCEngine;
export type ServiceWorkerMLCEngine = MLCEngine;
export type ChatCompletionMessageParam = types.ChatCompletionMessage;
export type ChatCompletionSystemMessageParam = types.ChatCompletionMessage & { role: "system" };
export type ChatCompletionUserMessageParam = types.ChatCompletionMessage & { role: "user" };
export type ChatCompletionAssistantMessageParam =
  & types.ChatCompletionMessage
  & { role: "assistant" };
export type ChatCompletionToolMessageParam = types.ChatCompletionMessage & { role: "tool" };
export type ChatCompletionRequestBase = types.ChatCompletionRequest;
export type ChatCompletionToolChoiceOption = types.ToolChoice;
export type CompletionCreateParams = types.CompletionRequest;
export type EmbeddingCreateParams = types.EmbeddingRequest;
export type CreateEmbeddingResponse = types.EmbeddingResponse;
export type AsyncChatCompletions = AnswerStream<types.ChatCompletionChunk>;
