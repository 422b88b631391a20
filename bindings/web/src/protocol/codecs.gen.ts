// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// How each type is read from JSON; `wire.ts` says what the words mean.

import {
  always,
  anything,
  bytes,
  closed,
  type Codec,
  constant,
  defaulted,
  either,
  flag,
  float,
  list,
  named,
  numbered,
  object,
  optional,
  required,
  struct,
  tagged,
  text,
  variant,
  whole,
  words,
} from "./wire.ts";
import type * as types from "./types.gen.ts";

export const ChatCompletionRole: Codec<types.ChatCompletionRole> = words([
  "system",
  "developer",
  "user",
  "assistant",
  "tool",
]);

export const ChatCompletionContentPartText: Codec<types.ChatCompletionContentPartText> = struct([
  required("type", constant("text")),
  required("text", text),
]);

export const ImageDetail: Codec<types.ImageDetail> = words([
  "auto",
  "low",
  "high",
  "original",
]);

export const ImageURL: Codec<types.ImageURL> = struct([
  required("url", bytes),
  optional("detail", ImageDetail),
]);

export const ImageSource: Codec<types.ImageSource> = either([
  variant("url", "string", text),
  variant("image", "object", ImageURL),
]);

export const ChatCompletionContentPartImage: Codec<types.ChatCompletionContentPartImage> = struct([
  required("type", constant("image_url")),
  required("image_url", ImageSource),
]);

export const ChatCompletionContentPart: Codec<types.ChatCompletionContentPart> = tagged("type", [
  variant("text", "text", ChatCompletionContentPartText),
  variant("image_url", "image_url", ChatCompletionContentPartImage),
]);

export const ChatCompletionMessageContent: Codec<types.ChatCompletionMessageContent> = either([
  variant("text", "string", text),
  variant("parts", "array", list(ChatCompletionContentPart)),
]);

export const FunctionCall: Codec<types.FunctionCall> = struct([
  required("name", text),
  required("arguments", text),
]);

export const ChatCompletionMessageToolCall: Codec<types.ChatCompletionMessageToolCall> = struct([
  required("id", text),
  required("type", constant("function")),
  required("function", FunctionCall),
]);

export const ChatCompletionMessage: Codec<types.ChatCompletionMessage> = struct([
  required("role", ChatCompletionRole),
  optional("content", ChatCompletionMessageContent),
  optional("name", text),
  optional("tool_calls", list(ChatCompletionMessageToolCall)),
  optional("tool_call_id", text),
  optional("reasoning_content", text),
]);

export const StreamOptions: Codec<types.StreamOptions> = struct([
  optional("include_usage", flag),
]);

export const Stop: Codec<types.Stop> = either([
  variant("text", "string", text),
  variant("texts", "array", list(text)),
]);

export const FunctionDefinition: Codec<types.FunctionDefinition> = struct([
  required("name", text),
  optional("description", text),
  optional("parameters", object),
  optional("strict", flag),
]);

export const ChatCompletionTool: Codec<types.ChatCompletionTool> = struct([
  required("type", constant("function")),
  required("function", FunctionDefinition),
]);

export const ToolChoiceMode: Codec<types.ToolChoiceMode> = words([
  "none",
  "auto",
  "required",
]);

export const NamedFunction: Codec<types.NamedFunction> = struct([
  required("name", text),
]);

export const ChatCompletionNamedToolChoice: Codec<types.ChatCompletionNamedToolChoice> = struct([
  required("type", constant("function")),
  required("function", NamedFunction),
]);

export const ToolChoice: Codec<types.ToolChoice> = either([
  variant("mode", "string", ToolChoiceMode),
  variant("named", "object", ChatCompletionNamedToolChoice),
]);

export const ResponseFormatText: Codec<types.ResponseFormatText> = struct([
  required("type", constant("text")),
]);

export const JsonSchemaSource: Codec<types.JsonSchemaSource> = either([
  variant("text", "string", text),
  variant("object", "object", object),
]);

export const ResponseFormatJSONObject: Codec<types.ResponseFormatJSONObject> = struct([
  required("type", constant("json_object")),
  optional("schema", JsonSchemaSource),
]);

export const JSONSchema: Codec<types.JSONSchema> = struct([
  required("name", text),
  optional("description", text),
  optional("schema", object),
  optional("strict", flag),
]);

export const ResponseFormatJSONSchema: Codec<types.ResponseFormatJSONSchema> = struct([
  required("type", constant("json_schema")),
  required("json_schema", JSONSchema),
]);

export const ResponseFormatRegex: Codec<types.ResponseFormatRegex> = struct([
  required("type", constant("regex")),
  required("regex", text),
]);

export const ResponseFormatGrammar: Codec<types.ResponseFormatGrammar> = struct([
  required("type", constant("grammar")),
  required("grammar", text),
]);

export const StructuralTag: Codec<types.StructuralTag> = struct([
  required("begin", text),
  required("schema", object),
  required("end", text),
]);

export const ResponseFormatStructuralTag: Codec<types.ResponseFormatStructuralTag> = struct([
  required("type", constant("structural_tag")),
  optional("tags", list(StructuralTag)),
  optional("triggers", list(text)),
  optional("format", object),
]);

export const ResponseFormat: Codec<types.ResponseFormat> = tagged("type", [
  variant("text", "text", ResponseFormatText),
  variant("json_object", "json_object", ResponseFormatJSONObject),
  variant("json_schema", "json_schema", ResponseFormatJSONSchema),
  variant("regex", "regex", ResponseFormatRegex),
  variant("grammar", "grammar", ResponseFormatGrammar),
  variant("structural_tag", "structural_tag", ResponseFormatStructuralTag),
]);

export const ReasoningEffort: Codec<types.ReasoningEffort> = words([
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
]);

export const LoraUse: Codec<types.LoraUse> = struct([
  required("name", text),
  defaulted("scale", float, 1.0),
]);

export const Lora: Codec<types.Lora> = either([
  variant("name", "string", text),
  variant("uses", "array", list(LoraUse)),
]);

export const SpecialRequest: Codec<types.SpecialRequest> = words([
  "query_engine_metrics",
]);

export const GrammarExecutionMode: Codec<types.GrammarExecutionMode> = words([
  "constraint",
  "jump_forward",
]);

export const DebugConfig: Codec<types.DebugConfig> = struct([
  defaulted("ignore_eos", flag, false),
  defaulted("pinned_system_prompt", flag, false),
  optional("special_request", SpecialRequest),
  defaulted("grammar_execution_mode", GrammarExecutionMode, "jump_forward"),
]);

export const ChatCompletionPredictionText: Codec<types.ChatCompletionPredictionText> = either([
  variant("text", "string", text),
  variant("parts", "array", list(ChatCompletionContentPartText)),
]);

export const ChatCompletionPrediction: Codec<types.ChatCompletionPrediction> = struct([
  required("type", constant("content")),
  required("content", ChatCompletionPredictionText),
]);

export const ChatCompletionRequest: Codec<types.ChatCompletionRequest> = struct([
  required("messages", list(ChatCompletionMessage)),
  optional("model", text),
  defaulted("stream", flag, false),
  optional("stream_options", StreamOptions),
  optional("max_tokens", whole),
  optional("max_completion_tokens", whole),
  defaulted("n", whole, 1),
  optional("temperature", float),
  optional("top_p", float),
  optional("top_k", whole),
  optional("min_p", float),
  optional("frequency_penalty", float),
  optional("presence_penalty", float),
  optional("repetition_penalty", float),
  optional("top_n_sigma", float),
  optional("xtc_probability", float),
  optional("xtc_threshold", float),
  optional("dry_multiplier", float),
  optional("dry_base", float),
  optional("dry_allowed_length", whole),
  optional("dry_penalty_last_n", whole),
  optional("dry_sequence_breakers", list(text)),
  optional("logit_bias", numbered(float)),
  optional("seed", whole),
  defaulted("logprobs", flag, false),
  optional("top_logprobs", whole),
  optional("stop", Stop),
  optional("tools", list(ChatCompletionTool)),
  optional("tool_choice", ToolChoice),
  defaulted("parallel_tool_calls", flag, true),
  optional("response_format", ResponseFormat),
  optional("reasoning_effort", ReasoningEffort),
  optional("reasoning_budget", whole),
  optional("chat_template_kwargs", object),
  optional("logit_processor", text),
  optional("lora", Lora),
  optional("user", text),
  optional("priority", whole),
  optional("timeout_ms", whole),
  optional("usage_extra", flag),
  optional("timings_per_token", flag),
  optional("return_progress", flag),
  optional("debug_config", DebugConfig),
  optional("metadata", named(text)),
  optional("store", flag),
  optional("service_tier", text),
  optional("modalities", list(text)),
  optional("audio", anything),
  optional("prediction", ChatCompletionPrediction),
  optional("web_search_options", anything),
  optional("functions", anything),
  optional("function_call", anything),
]);

export const PromptItem: Codec<types.PromptItem> = either([
  variant("text", "string", text),
  variant("token", "number", whole),
  variant("tokens", "array", list(whole)),
]);

export const Prompt: Codec<types.Prompt> = either([
  variant("text", "string", text),
  variant("items", "array", list(PromptItem)),
]);

export const CompletionRequest: Codec<types.CompletionRequest> = struct([
  required("prompt", Prompt),
  optional("model", text),
  optional("suffix", text),
  defaulted("echo", flag, false),
  optional("best_of", whole),
  defaulted("stream", flag, false),
  optional("stream_options", StreamOptions),
  defaulted("max_tokens", whole, 16),
  defaulted("n", whole, 1),
  optional("temperature", float),
  optional("top_p", float),
  optional("top_k", whole),
  optional("min_p", float),
  optional("frequency_penalty", float),
  optional("presence_penalty", float),
  optional("repetition_penalty", float),
  optional("top_n_sigma", float),
  optional("xtc_probability", float),
  optional("xtc_threshold", float),
  optional("dry_multiplier", float),
  optional("dry_base", float),
  optional("dry_allowed_length", whole),
  optional("dry_penalty_last_n", whole),
  optional("dry_sequence_breakers", list(text)),
  optional("logit_bias", numbered(float)),
  optional("seed", whole),
  optional("logprobs", whole),
  optional("stop", Stop),
  optional("response_format", ResponseFormat),
  optional("logit_processor", text),
  optional("lora", Lora),
  optional("user", text),
  optional("priority", whole),
  optional("timeout_ms", whole),
  optional("timings_per_token", flag),
  optional("return_progress", flag),
  optional("debug_config", DebugConfig),
]);

export const EmbeddingEncoding: Codec<types.EmbeddingEncoding> = words([
  "float",
  "base64",
]);

export const EmbeddingRequest: Codec<types.EmbeddingRequest> = struct([
  required("input", Prompt),
  optional("model", text),
  defaulted("encoding_format", EmbeddingEncoding, "float"),
  optional("dimensions", whole),
  optional("user", text),
  optional("priority", whole),
  optional("timeout_ms", whole),
]);

export const RerankDocument: Codec<types.RerankDocument> = struct([
  required("text", text),
]);

export const RerankInput: Codec<types.RerankInput> = either([
  variant("text", "string", text),
  variant("document", "object", RerankDocument),
]);

export const RerankRequest: Codec<types.RerankRequest> = struct([
  required("query", text),
  required("documents", list(RerankInput)),
  optional("model", text),
  optional("top_n", whole),
  defaulted("return_documents", flag, false),
  optional("max_tokens_per_doc", whole),
  defaulted("truncate", flag, true),
  defaulted("raw_scores", flag, false),
  optional("priority", whole),
  optional("timeout_ms", whole),
]);

export const TokenizeRequest: Codec<types.TokenizeRequest> = struct([
  required("text", text),
  defaulted("add_special_tokens", flag, false),
]);

export const DetokenizeRequest: Codec<types.DetokenizeRequest> = struct([
  required("tokens", list(whole)),
  defaulted("skip_special_tokens", flag, true),
]);

export const KVSaveRequest: Codec<types.KVSaveRequest> = struct([
  required("path", text),
  optional("messages", list(ChatCompletionMessage)),
  optional("chat_template_kwargs", object),
  optional("prompt_tokens", list(whole)),
]);

export const KVLoadRequest: Codec<types.KVLoadRequest> = struct([
  required("path", text),
]);

export const KVHeldRequest: Codec<types.KVHeldRequest> = struct([
  optional("chat", ChatCompletionRequest),
  optional("completion", CompletionRequest),
]);

export const TrimLevel: Codec<types.TrimLevel> = words([
  "caches",
  "pages",
  "all",
]);

export const TrimRequest: Codec<types.TrimRequest> = struct([
  defaulted("level", TrimLevel, "caches"),
]);

export const PrewarmRequest: Codec<types.PrewarmRequest> = struct([
  defaulted("step", flag, true),
]);

export const ThermalState: Codec<types.ThermalState> = words([
  "nominal",
  "fair",
  "serious",
  "critical",
]);

export const ThermalHint: Codec<types.ThermalHint> = struct([
  required("state", ThermalState),
]);

export const AdapterLoadRequest: Codec<types.AdapterLoadRequest> = struct([
  required("name", text),
  required("path", text),
]);

export const AdapterUnloadRequest: Codec<types.AdapterUnloadRequest> = struct([
  required("name", text),
]);

export const AdapterListRequest: Codec<types.AdapterListRequest> = struct([
  optional("name", text),
]);

export const Directories: Codec<types.Directories> = struct([
  optional("cache", text),
  optional("temporary", text),
  optional("libraries", list(text)),
]);

export const ModelLoadRequest: Codec<types.ModelLoadRequest> = struct([
  required("model", text),
  optional("model_lib", text),
  defaulted("device", text, "auto"),
  optional("name", text),
]);

export const EngineMode: Codec<types.EngineMode> = words([
  "local",
  "interactive",
  "server",
]);

export const KVCacheDType: Codec<types.KVCacheDType> = words([
  "f32",
  "f16",
  "bf16",
  "q8",
]);

export const PrefillMode: Codec<types.PrefillMode> = words([
  "hybrid",
  "chunked",
]);

export const EmbeddingPooling: Codec<types.EmbeddingPooling> = words([
  "mean",
  "last",
  "cls",
]);

export const PrefixCacheMode: Codec<types.PrefixCacheMode> = words([
  "radix",
  "disable",
]);

export const SpeculativeMode: Codec<types.SpeculativeMode> = words([
  "disable",
  "small_draft",
  "prompt_lookup",
  "mtp",
  "eagle",
  "medusa",
]);

export const EngineConfig: Codec<types.EngineConfig> = closed([
  optional("mode", EngineMode),
  optional("max_num_sequence", whole),
  optional("max_total_seq_length", whole),
  optional("kv_cache_bytes", whole),
  optional("kv_cache_dtype", KVCacheDType),
  optional("memory_limit_bytes", whole),
  optional("gpu_memory_utilization", float),
  optional("context_window_size", whole),
  optional("sliding_window_size", whole),
  optional("attention_sink_size", whole),
  optional("prefill_chunk_size", whole),
  optional("prefill_mode", PrefillMode),
  optional("max_queued_requests", whole),
  optional("enable_tracing", flag),
  optional("embedding_pooling", EmbeddingPooling),
  optional("openai_last_chunk", flag),
  optional("refuse_unknown_fields", flag),
  optional("max_history_size", whole),
  optional("prefix_cache_mode", PrefixCacheMode),
  optional("prefix_cache_max_num_recycling_seqs", whole),
  optional("prefix_cache_dir", text),
  optional("prefix_cache_ram_bytes", whole),
  optional("prefix_cache_dir_bytes", whole),
  optional("prefix_cache_dir_days", whole),
  optional("speculative_mode", SpeculativeMode),
  optional("additional_models", list(text)),
  optional("mmproj", text),
  optional("spec_draft_length", whole),
  optional("jump_forward", flag),
  optional("spec_tree_width", whole),
  optional("tensor_parallel_shards", whole),
  optional("pipeline_parallel_stages", whole),
  optional("lora_ranks", whole),
  optional("lora_bytes", whole),
  optional("max_loras", whole),
  optional("num_threads", whole),
]);

export const ChatCompletionResponseMessage: Codec<types.ChatCompletionResponseMessage> = struct([
  required("role", constant("assistant")),
  always("content", text),
  always("refusal", text),
  optional("reasoning_content", text),
  optional("tool_calls", list(ChatCompletionMessageToolCall)),
]);

export const TopLogprob: Codec<types.TopLogprob> = struct([
  required("token", text),
  required("logprob", float),
  always("bytes", list(whole)),
]);

export const ChatCompletionTokenLogprob: Codec<types.ChatCompletionTokenLogprob> = struct([
  required("token", text),
  required("logprob", float),
  always("bytes", list(whole)),
  required("top_logprobs", list(TopLogprob)),
]);

export const ChoiceLogprobs: Codec<types.ChoiceLogprobs> = struct([
  always("content", list(ChatCompletionTokenLogprob)),
  always("refusal", list(ChatCompletionTokenLogprob)),
]);

export const FinishReason: Codec<types.FinishReason> = words([
  "stop",
  "length",
  "tool_calls",
  "content_filter",
  "error",
]);

export const ChatCompletionChoice: Codec<types.ChatCompletionChoice> = struct([
  required("index", whole),
  required("message", ChatCompletionResponseMessage),
  always("logprobs", ChoiceLogprobs),
  required("finish_reason", FinishReason),
  optional("stop_reason", text),
]);

export const PromptTokensDetails: Codec<types.PromptTokensDetails> = struct([
  optional("cached_tokens", whole),
]);

export const CompletionTokensDetails: Codec<types.CompletionTokensDetails> = struct([
  optional("reasoning_tokens", whole),
  optional("accepted_prediction_tokens", whole),
  optional("rejected_prediction_tokens", whole),
]);

export const CompletionUsageExtra: Codec<types.CompletionUsageExtra> = struct([
  optional("prompt_tokens", whole),
  optional("completion_tokens", whole),
  optional("prefill_tokens", whole),
  optional("decode_tokens", whole),
  optional("jump_forward_tokens", whole),
  optional("prefill_tokens_per_s", float),
  optional("decode_tokens_per_s", float),
  optional("ttft_s", float),
  optional("inter_token_latency_s", float),
  optional("end_to_end_latency_s", float),
  optional("drafted_tokens", whole),
  optional("accepted_draft_tokens", whole),
  optional("draft_gain", float),
]);

export const CompletionUsage: Codec<types.CompletionUsage> = struct([
  required("prompt_tokens", whole),
  required("completion_tokens", whole),
  required("total_tokens", whole),
  optional("prompt_tokens_details", PromptTokensDetails),
  optional("completion_tokens_details", CompletionTokensDetails),
  optional("extra", CompletionUsageExtra),
]);

export const Timings: Codec<types.Timings> = struct([
  required("cache_n", whole),
  required("prompt_n", whole),
  required("prompt_ms", float),
  required("prompt_per_token_ms", float),
  required("prompt_per_second", float),
  required("predicted_n", whole),
  required("predicted_ms", float),
  required("predicted_per_token_ms", float),
  required("predicted_per_second", float),
  optional("draft_n", whole),
  optional("draft_n_accepted", whole),
]);

export const SchemaWarning: Codec<types.SchemaWarning> = struct([
  required("param", text),
  required("path", text),
  required("message", text),
]);

export const ChatCompletion: Codec<types.ChatCompletion> = struct([
  required("id", text),
  required("object", constant("chat.completion")),
  required("created", whole),
  required("model", text),
  required("choices", list(ChatCompletionChoice)),
  optional("usage", CompletionUsage),
  optional("timings", Timings),
  optional("warnings", list(SchemaWarning)),
  optional("system_fingerprint", text),
]);

export const ToolType: Codec<types.ToolType> = words([
  "function",
]);

export const ChoiceDeltaFunctionCall: Codec<types.ChoiceDeltaFunctionCall> = struct([
  optional("name", text),
  optional("arguments", text),
]);

export const ChoiceDeltaToolCall: Codec<types.ChoiceDeltaToolCall> = struct([
  required("index", whole),
  optional("id", text),
  optional("type", ToolType),
  optional("function", ChoiceDeltaFunctionCall),
]);

export const ChatCompletionChunkDelta: Codec<types.ChatCompletionChunkDelta> = struct([
  optional("role", ChatCompletionRole),
  optional("content", text),
  optional("reasoning_content", text),
  optional("refusal", text),
  optional("tool_calls", list(ChoiceDeltaToolCall)),
]);

export const ChatCompletionChunkChoice: Codec<types.ChatCompletionChunkChoice> = struct([
  required("index", whole),
  required("delta", ChatCompletionChunkDelta),
  always("logprobs", ChoiceLogprobs),
  always("finish_reason", FinishReason),
  optional("stop_reason", text),
]);

export const PromptProgress: Codec<types.PromptProgress> = struct([
  required("total", whole),
  required("cache", whole),
  required("processed", whole),
  required("time_ms", float),
]);

export const ChatCompletionChunk: Codec<types.ChatCompletionChunk> = struct([
  required("id", text),
  required("object", constant("chat.completion.chunk")),
  required("created", whole),
  required("model", text),
  required("choices", list(ChatCompletionChunkChoice)),
  optional("usage", CompletionUsage),
  optional("timings", Timings),
  optional("prompt_progress", PromptProgress),
  optional("warnings", list(SchemaWarning)),
  optional("system_fingerprint", text),
]);

export const CompletionLogprobs: Codec<types.CompletionLogprobs> = struct([
  optional("tokens", list(text)),
  optional("token_logprobs", list(float)),
  optional("top_logprobs", list(named(float))),
  optional("text_offset", list(whole)),
]);

export const CompletionChoice: Codec<types.CompletionChoice> = struct([
  required("index", whole),
  required("text", text),
  always("logprobs", CompletionLogprobs),
  always("finish_reason", FinishReason),
  optional("stop_reason", text),
]);

export const Completion: Codec<types.Completion> = struct([
  required("id", text),
  required("object", constant("text_completion")),
  required("created", whole),
  required("model", text),
  required("choices", list(CompletionChoice)),
  optional("usage", CompletionUsage),
  optional("timings", Timings),
  optional("prompt_progress", PromptProgress),
  optional("warnings", list(SchemaWarning)),
  optional("system_fingerprint", text),
]);

export const EmbeddingVector: Codec<types.EmbeddingVector> = either([
  variant("numbers", "array", list(float)),
  variant("base64", "string", text),
]);

export const Embedding: Codec<types.Embedding> = struct([
  required("index", whole),
  required("object", constant("embedding")),
  required("embedding", EmbeddingVector),
]);

export const EmbeddingUsage: Codec<types.EmbeddingUsage> = struct([
  required("prompt_tokens", whole),
  required("total_tokens", whole),
]);

export const EmbeddingResponse: Codec<types.EmbeddingResponse> = struct([
  required("object", constant("list")),
  required("data", list(Embedding)),
  required("model", text),
  required("usage", EmbeddingUsage),
]);

export const RerankResult: Codec<types.RerankResult> = struct([
  required("index", whole),
  required("relevance_score", float),
  optional("document", RerankDocument),
]);

export const RerankResponse: Codec<types.RerankResponse> = struct([
  required("id", text),
  required("object", constant("list")),
  required("model", text),
  required("results", list(RerankResult)),
  required("usage", EmbeddingUsage),
]);

export const TokenizeResponse: Codec<types.TokenizeResponse> = struct([
  required("tokens", list(whole)),
  required("count", whole),
]);

export const DetokenizeResponse: Codec<types.DetokenizeResponse> = struct([
  required("text", text),
]);

export const InputTokensResponse: Codec<types.InputTokensResponse> = struct([
  required("input_tokens", whole),
]);

export const RenderResponse: Codec<types.RenderResponse> = struct([
  required("prompt", text),
]);

export const KVSaveResponse: Codec<types.KVSaveResponse> = struct([
  required("tokens", whole),
  required("bytes", whole),
]);

export const KVLoadResponse: Codec<types.KVLoadResponse> = struct([
  required("tokens", whole),
]);

export const KVHeldPrompt: Codec<types.KVHeldPrompt> = struct([
  required("tokens", list(whole)),
  required("held", whole),
]);

export const KVHeldResponse: Codec<types.KVHeldResponse> = struct([
  required("prompts", list(KVHeldPrompt)),
]);

export const TrimResponse: Codec<types.TrimResponse> = struct([
  required("pages", whole),
  required("page_bytes", whole),
  required("weight_bytes", whole),
]);

export const PrewarmResponse: Codec<types.PrewarmResponse> = struct([
  required("weight_bytes", whole),
]);

export const ThermalLimits: Codec<types.ThermalLimits> = struct([
  required("num_threads", whole),
  required("max_num_sequence", whole),
  required("prefill_chunk_size", whole),
]);

export const AdapterInfo: Codec<types.AdapterInfo> = struct([
  required("name", text),
  required("rank", whole),
  required("hash", text),
]);

export const AdapterList: Codec<types.AdapterList> = struct([
  required("adapters", list(AdapterInfo)),
  required("ranks", whole),
  required("free_ranks", whole),
]);

export const ModelStatus: Codec<types.ModelStatus> = words([
  "unloaded",
  "loading",
  "loaded",
  "sleeping",
  "leaving",
  "failed",
]);

export const InputModality: Codec<types.InputModality> = words([
  "text",
  "image",
]);

export const ModelObject: Codec<types.ModelObject> = struct([
  required("id", text),
  required("object", constant("model")),
  required("created", whole),
  required("owned_by", text),
  optional("status", ModelStatus),
  optional("progress", float),
  optional("input_modalities", list(InputModality)),
  optional("parent", text),
  optional("root", text),
]);

export const ModelList: Codec<types.ModelList> = struct([
  required("object", constant("list")),
  required("data", list(ModelObject)),
]);

export const DeviceProbe: Codec<types.DeviceProbe> = struct([
  required("name", text),
  required("found", flag),
  required("reason", text),
  optional("description", text),
  optional("memory_bytes", whole),
  optional("max_buffer_bytes", whole),
  optional("local_memory_bytes", whole),
  optional("max_group_size", whole),
  optional("f16", flag),
  optional("is_processor", flag),
]);

export const RequestMetrics: Codec<types.RequestMetrics> = struct([
  optional("prompt_tokens", whole),
  optional("completion_tokens", whole),
  optional("prefill_tokens", whole),
  optional("decode_tokens", whole),
  optional("jump_forward_tokens", whole),
  optional("prefill_tokens_per_s", float),
  optional("decode_tokens_per_s", float),
  optional("ttft_s", float),
  optional("inter_token_latency_s", float),
  optional("end_to_end_latency_s", float),
  optional("drafted_tokens", whole),
  optional("accepted_draft_tokens", whole),
  optional("draft_gain", float),
]);

export const KnownTextMetrics: Codec<types.KnownTextMetrics> = struct([
  required("draft_count", whole),
  required("accept_count", whole),
]);

export const SpecDecodeMetrics: Codec<types.SpecDecodeMetrics> = struct([
  optional("draft_count", list(whole)),
  optional("accept_count", list(whole)),
  optional("accept_prob", object),
  optional("accept_rate", object),
  optional("accept_len", object),
]);

export const EngineMetrics: Codec<types.EngineMetrics> = struct([
  optional("engine_prefill_time_sum", float),
  optional("engine_decode_time_sum", float),
  optional("engine_jump_forward_time_sum", float),
  optional("prompt_tokens_sum", whole),
  optional("prefill_tokens_sum", whole),
  optional("decode_tokens_sum", whole),
  optional("jump_forward_tokens_sum", whole),
  optional("completion_tokens_sum", whole),
  optional("prefill_tokens_per_s", float),
  optional("decode_tokens_per_s", float),
  optional("kv_pages_total", whole),
  optional("kv_pages_free", whole),
  optional("num_running_sequences", whole),
  optional("num_waiting_sequences", whole),
  optional("num_queued_requests", whole),
  optional("num_steps", whole),
  optional("num_preemptions", whole),
  optional("restored_tokens_sum", whole),
  optional("written_blocks_sum", whole),
  optional("prefix_cache_ram_bytes", whole),
  optional("device_read_bytes_sum", whole),
  optional("encoded_pictures_sum", whole),
  optional("engine_encode_time_sum", float),
  optional("picture_cache_hits_sum", whole),
  optional("picture_cache_bytes", whole),
  optional("num_finished_requests", whole),
  optional("num_failed_requests", whole),
  optional("last_finished_request", RequestMetrics),
  optional("jump_forward", KnownTextMetrics),
  optional("prediction", KnownTextMetrics),
  optional("prompt_lookup", KnownTextMetrics),
  optional("drafted_tokens_sum", whole),
  optional("accepted_draft_tokens_sum", whole),
  optional("draft_gain", float),
  optional("spec_decode", SpecDecodeMetrics),
  optional("decode_time_by_batch_size", object),
  optional("draft_time_by_batch_size", object),
  optional("verify_time_by_batch_size", object),
]);

export const Plan: Codec<types.Plan> = struct([
  required("model", text),
  required("model_type", text),
  required("quantization", text),
  required("device", text),
  required("mode", text),
  required("max_num_sequence", whole),
  required("max_total_seq_length", whole),
  required("context_window_size", whole),
  optional("context_limit", text),
  required("prefill_chunk_size", whole),
  required("kv_bytes_per_token", whole),
  required("kv_cache_dtype", text),
  required("parameter_bytes", whole),
  required("table_bytes", whole),
  required("kv_cache_bytes", whole),
  required("lora_ranks", whole),
  required("adapter_bytes", whole),
  required("temporary_bytes", whole),
  required("total_bytes", whole),
  required("prefix_cache_ram_bytes", whole),
  required("available_bytes", whole),
  required("input_modalities", list(InputModality)),
  required("fits", flag),
  optional("reason", text),
  required("summary", list(text)),
]);

export const ErrorStatus: Codec<types.ErrorStatus> = words([
  "invalid_argument",
  "not_found",
  "corrupt",
  "unsupported",
  "resource_exhausted",
  "cancelled",
  "unavailable",
  "deadline_exceeded",
  "internal",
]);

export const ErrorObject: Codec<types.ErrorObject> = struct([
  required("message", text),
  required("type", text),
  always("param", text),
  always("code", text),
  optional("status", ErrorStatus),
]);

export const ErrorResponse: Codec<types.ErrorResponse> = struct([
  required("error", ErrorObject),
]);
