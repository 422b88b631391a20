/**
 * Large language models in the browser: the C++ engine of mlc_llm as WebAssembly, with OpenAI's API
 * and WebLLM's names.
 */

export { AnswerFold } from "./chat/answer_fold.ts";
export { HelpedChatCompletions } from "./chat/completions.ts";
export { type Drawable, picture } from "./chat/picture.ts";
export { fit, type FromSchema, type JSONSchema, SchemaMismatch } from "./chat/schema.ts";
export {
  formatOf,
  type ParsedChatCompletion,
  type ParsedChoice,
  type ParsedMessage,
  type ParseRequest,
} from "./chat/structured.ts";
export { type Tool, tool, type ToolOptions, type ToolRequest } from "./chat/tool_loop.ts";
export type { FileStore } from "./cache/file_store.ts";
export { verifyIntegrity } from "./cache/integrity.ts";
export type { ModelIntegrity } from "./cache/model_files.ts";
export { AnswerStream, type RequestOptions } from "./engine/channel.ts";
export { HostedEngine } from "./engine/engine.ts";
export * from "./errors.ts";
export { LocalHost, type Runtime } from "./host/local_host.ts";
export type { CacheBackend, Host } from "./host/host.ts";
export * from "./protocol/routes.gen.ts";
export * from "./protocol/tools.gen.ts";
export * from "./protocol/types.gen.ts";
export * from "./webllm/cache.ts";
export {
  type AppConfig,
  type ChatOptions,
  fetchAppConfig,
  type InitProgressCallback,
  type InitProgressReport,
  type MLCEngineConfig,
  type ModelRecord,
  prebuiltAppConfig,
} from "./webllm/config.ts";
export type { LogitProcessor, LogitProcessorRegistry } from "./host/logit_processors.ts";
export * from "./webllm/create.ts";
export * from "./webllm/names.ts";
// In place of the protocol's types of these names.
export type { CreateEmbeddingResponse, Embedding } from "./webllm/names.ts";
export type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  ChatCompletionRequestBase,
  ChatCompletionRequestNonStreaming,
  ChatCompletionRequestStreaming,
  Completion,
  CompletionCreateParams,
  CompletionCreateParamsBase,
  CompletionCreateParamsNonStreaming,
  CompletionCreateParamsStreaming,
  CompletionUsage,
  ExtraBody,
  ResponseFormat,
  ResponseFormatWholeTag,
  UsageExtra,
} from "./webllm/protocol.ts";
export type { RemoteOptions } from "./worker/remote_host.ts";
