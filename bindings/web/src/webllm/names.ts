/** WebLLM's names of types that have another name here. */

import type { AnswerStream } from "../engine/channel.ts";
import type { HostedEngine } from "../engine/engine.ts";
import type * as types from "../protocol/types.gen.ts";
import type { ChatCompletionChunk } from "./protocol.ts";

export type MLCEngineInterface = HostedEngine;
export type ServiceWorkerMLCEngine = HostedEngine;
export type AsyncChatCompletions = AnswerStream<ChatCompletionChunk>;

type Message<Role extends types.ChatCompletionRole, Content> =
  & Omit<types.ChatCompletionMessage, "content" | "role">
  & { role: Role; content: Content };
export type ChatCompletionSystemMessageParam = Message<"system", string>;
export type ChatCompletionUserMessageParam = Message<"user", types.ChatCompletionMessageContent>;
export type ChatCompletionAssistantMessageParam =
  & Omit<Message<"assistant", string | null>, "content">
  & { content?: string | null };
export type ChatCompletionToolMessageParam = Message<"tool", string> & { tool_call_id: string };
/** A message that is sent. Its role says which members it has. */
export type ChatCompletionMessageParam =
  | ChatCompletionSystemMessageParam
  | ChatCompletionUserMessageParam
  | ChatCompletionAssistantMessageParam
  | ChatCompletionToolMessageParam;
export type ChatCompletionToolChoiceOption = types.ToolChoice;

export type EmbeddingCreateParams = types.EmbeddingRequest;
/** Vectors of numbers: what a request without `encoding_format: "base64"` gets. */
export type CreateEmbeddingResponse = Omit<types.EmbeddingResponse, "data"> & {
  data: Embedding[];
};
export type Embedding = Omit<types.Embedding, "embedding"> & { embedding: number[] };

/** What a model is for, by WebLLM's numbers. They are not read: the model's own config says it. */
export enum ModelType {
  LLM = 0,
  embedding = 1,
  VLM = 2,
}

/**
 * WebLLM's place of its prebuilt libraries, which are for its own engine. Here both are empty, so
 * that an address made of them begins at the page's own server: `mlc_llm package` makes libraries.
 */
export const modelLibURLPrefix = "";
export const modelVersion = "";
