// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// Reads the protocol's types by the names of their members: for the conformance vectors.
#pragma once

#include <string_view>

#include "chat/protocol/protocol.gen.h"

namespace mlc::protocol {

// Calls `visit` with each member's name on the wire and its value.
template <typename Visit>
void VisitMembers(const ChatCompletionContentPartText& object, Visit&& visit) {
  visit("type", object.kType);
  visit("text", object.text);
}
template <typename Visit>
void VisitMembers(const ImageURL& object, Visit&& visit) {
  visit("url", object.url);
  visit("detail", object.detail);
}
template <typename Visit>
void VisitMembers(const ChatCompletionContentPartImage& object, Visit&& visit) {
  visit("type", object.kType);
  visit("image_url", object.image_url);
}
template <typename Visit>
void VisitMembers(const FunctionCall& object, Visit&& visit) {
  visit("name", object.name);
  visit("arguments", object.arguments);
}
template <typename Visit>
void VisitMembers(const ChatCompletionMessageToolCall& object, Visit&& visit) {
  visit("id", object.id);
  visit("type", object.kType);
  visit("function", object.function);
}
template <typename Visit>
void VisitMembers(const ChatCompletionMessage& object, Visit&& visit) {
  visit("role", object.role);
  visit("content", object.content);
  visit("name", object.name);
  visit("tool_calls", object.tool_calls);
  visit("tool_call_id", object.tool_call_id);
  visit("reasoning_content", object.reasoning_content);
}
template <typename Visit>
void VisitMembers(const StreamOptions& object, Visit&& visit) {
  visit("include_usage", object.include_usage);
}
template <typename Visit>
void VisitMembers(const FunctionDefinition& object, Visit&& visit) {
  visit("name", object.name);
  visit("description", object.description);
  visit("parameters", object.parameters);
  visit("strict", object.strict);
}
template <typename Visit>
void VisitMembers(const ChatCompletionTool& object, Visit&& visit) {
  visit("type", object.kType);
  visit("function", object.function);
}
template <typename Visit>
void VisitMembers(const NamedFunction& object, Visit&& visit) {
  visit("name", object.name);
}
template <typename Visit>
void VisitMembers(const ChatCompletionNamedToolChoice& object, Visit&& visit) {
  visit("type", object.kType);
  visit("function", object.function);
}
template <typename Visit>
void VisitMembers(const ResponseFormatText& object, Visit&& visit) {
  visit("type", object.kType);
}
template <typename Visit>
void VisitMembers(const ResponseFormatJSONObject& object, Visit&& visit) {
  visit("type", object.kType);
  visit("schema", object.schema);
}
template <typename Visit>
void VisitMembers(const JSONSchema& object, Visit&& visit) {
  visit("name", object.name);
  visit("description", object.description);
  visit("schema", object.schema);
  visit("strict", object.strict);
}
template <typename Visit>
void VisitMembers(const ResponseFormatJSONSchema& object, Visit&& visit) {
  visit("type", object.kType);
  visit("json_schema", object.json_schema);
}
template <typename Visit>
void VisitMembers(const ResponseFormatRegex& object, Visit&& visit) {
  visit("type", object.kType);
  visit("regex", object.regex);
}
template <typename Visit>
void VisitMembers(const ResponseFormatGrammar& object, Visit&& visit) {
  visit("type", object.kType);
  visit("grammar", object.grammar);
}
template <typename Visit>
void VisitMembers(const StructuralTag& object, Visit&& visit) {
  visit("begin", object.begin);
  visit("schema", object.schema);
  visit("end", object.end);
}
template <typename Visit>
void VisitMembers(const ResponseFormatStructuralTag& object, Visit&& visit) {
  visit("type", object.kType);
  visit("tags", object.tags);
  visit("triggers", object.triggers);
  visit("format", object.format);
}
template <typename Visit>
void VisitMembers(const LoraUse& object, Visit&& visit) {
  visit("name", object.name);
  visit("scale", object.scale);
}
template <typename Visit>
void VisitMembers(const DebugConfig& object, Visit&& visit) {
  visit("ignore_eos", object.ignore_eos);
  visit("pinned_system_prompt", object.pinned_system_prompt);
  visit("special_request", object.special_request);
  visit("grammar_execution_mode", object.grammar_execution_mode);
}
template <typename Visit>
void VisitMembers(const ChatCompletionPrediction& object, Visit&& visit) {
  visit("type", object.kType);
  visit("content", object.content);
}
template <typename Visit>
void VisitMembers(const ChatCompletionRequest& object, Visit&& visit) {
  visit("messages", object.messages);
  visit("model", object.model);
  visit("stream", object.stream);
  visit("stream_options", object.stream_options);
  visit("max_tokens", object.max_tokens);
  visit("max_completion_tokens", object.max_completion_tokens);
  visit("n", object.n);
  visit("temperature", object.temperature);
  visit("top_p", object.top_p);
  visit("top_k", object.top_k);
  visit("min_p", object.min_p);
  visit("frequency_penalty", object.frequency_penalty);
  visit("presence_penalty", object.presence_penalty);
  visit("repetition_penalty", object.repetition_penalty);
  visit("top_n_sigma", object.top_n_sigma);
  visit("xtc_probability", object.xtc_probability);
  visit("xtc_threshold", object.xtc_threshold);
  visit("dry_multiplier", object.dry_multiplier);
  visit("dry_base", object.dry_base);
  visit("dry_allowed_length", object.dry_allowed_length);
  visit("dry_penalty_last_n", object.dry_penalty_last_n);
  visit("dry_sequence_breakers", object.dry_sequence_breakers);
  visit("logit_bias", object.logit_bias);
  visit("seed", object.seed);
  visit("logprobs", object.logprobs);
  visit("top_logprobs", object.top_logprobs);
  visit("stop", object.stop);
  visit("tools", object.tools);
  visit("tool_choice", object.tool_choice);
  visit("parallel_tool_calls", object.parallel_tool_calls);
  visit("response_format", object.response_format);
  visit("reasoning_effort", object.reasoning_effort);
  visit("reasoning_budget", object.reasoning_budget);
  visit("chat_template_kwargs", object.chat_template_kwargs);
  visit("logit_processor", object.logit_processor);
  visit("lora", object.lora);
  visit("user", object.user);
  visit("priority", object.priority);
  visit("timeout_ms", object.timeout_ms);
  visit("usage_extra", object.usage_extra);
  visit("timings_per_token", object.timings_per_token);
  visit("return_progress", object.return_progress);
  visit("debug_config", object.debug_config);
  visit("metadata", object.metadata);
  visit("store", object.store);
  visit("service_tier", object.service_tier);
  visit("modalities", object.modalities);
  visit("audio", object.audio);
  visit("prediction", object.prediction);
  visit("web_search_options", object.web_search_options);
  visit("functions", object.functions);
  visit("function_call", object.function_call);
}
template <typename Visit>
void VisitMembers(const CompletionRequest& object, Visit&& visit) {
  visit("prompt", object.prompt);
  visit("model", object.model);
  visit("suffix", object.suffix);
  visit("echo", object.echo);
  visit("best_of", object.best_of);
  visit("stream", object.stream);
  visit("stream_options", object.stream_options);
  visit("max_tokens", object.max_tokens);
  visit("n", object.n);
  visit("temperature", object.temperature);
  visit("top_p", object.top_p);
  visit("top_k", object.top_k);
  visit("min_p", object.min_p);
  visit("frequency_penalty", object.frequency_penalty);
  visit("presence_penalty", object.presence_penalty);
  visit("repetition_penalty", object.repetition_penalty);
  visit("top_n_sigma", object.top_n_sigma);
  visit("xtc_probability", object.xtc_probability);
  visit("xtc_threshold", object.xtc_threshold);
  visit("dry_multiplier", object.dry_multiplier);
  visit("dry_base", object.dry_base);
  visit("dry_allowed_length", object.dry_allowed_length);
  visit("dry_penalty_last_n", object.dry_penalty_last_n);
  visit("dry_sequence_breakers", object.dry_sequence_breakers);
  visit("logit_bias", object.logit_bias);
  visit("seed", object.seed);
  visit("logprobs", object.logprobs);
  visit("stop", object.stop);
  visit("response_format", object.response_format);
  visit("logit_processor", object.logit_processor);
  visit("lora", object.lora);
  visit("user", object.user);
  visit("priority", object.priority);
  visit("timeout_ms", object.timeout_ms);
  visit("timings_per_token", object.timings_per_token);
  visit("return_progress", object.return_progress);
  visit("debug_config", object.debug_config);
}
template <typename Visit>
void VisitMembers(const EmbeddingRequest& object, Visit&& visit) {
  visit("input", object.input);
  visit("model", object.model);
  visit("encoding_format", object.encoding_format);
  visit("dimensions", object.dimensions);
  visit("user", object.user);
  visit("priority", object.priority);
  visit("timeout_ms", object.timeout_ms);
}
template <typename Visit>
void VisitMembers(const RerankDocument& object, Visit&& visit) {
  visit("text", object.text);
}
template <typename Visit>
void VisitMembers(const RerankRequest& object, Visit&& visit) {
  visit("query", object.query);
  visit("documents", object.documents);
  visit("model", object.model);
  visit("top_n", object.top_n);
  visit("return_documents", object.return_documents);
  visit("max_tokens_per_doc", object.max_tokens_per_doc);
  visit("truncate", object.truncate);
  visit("raw_scores", object.raw_scores);
  visit("priority", object.priority);
  visit("timeout_ms", object.timeout_ms);
}
template <typename Visit>
void VisitMembers(const TokenizeRequest& object, Visit&& visit) {
  visit("text", object.text);
  visit("add_special_tokens", object.add_special_tokens);
}
template <typename Visit>
void VisitMembers(const DetokenizeRequest& object, Visit&& visit) {
  visit("tokens", object.tokens);
  visit("skip_special_tokens", object.skip_special_tokens);
}
template <typename Visit>
void VisitMembers(const KVSaveRequest& object, Visit&& visit) {
  visit("path", object.path);
  visit("messages", object.messages);
  visit("chat_template_kwargs", object.chat_template_kwargs);
  visit("prompt_tokens", object.prompt_tokens);
}
template <typename Visit>
void VisitMembers(const KVLoadRequest& object, Visit&& visit) {
  visit("path", object.path);
}
template <typename Visit>
void VisitMembers(const KVHeldRequest& object, Visit&& visit) {
  visit("chat", object.chat);
  visit("completion", object.completion);
}
template <typename Visit>
void VisitMembers(const TrimRequest& object, Visit&& visit) {
  visit("level", object.level);
}
template <typename Visit>
void VisitMembers(const PrewarmRequest& object, Visit&& visit) {
  visit("step", object.step);
}
template <typename Visit>
void VisitMembers(const ThermalHint& object, Visit&& visit) {
  visit("state", object.state);
}
template <typename Visit>
void VisitMembers(const AdapterLoadRequest& object, Visit&& visit) {
  visit("name", object.name);
  visit("path", object.path);
}
template <typename Visit>
void VisitMembers(const AdapterUnloadRequest& object, Visit&& visit) {
  visit("name", object.name);
}
template <typename Visit>
void VisitMembers(const AdapterListRequest& object, Visit&& visit) {
  visit("name", object.name);
}
template <typename Visit>
void VisitMembers(const Directories& object, Visit&& visit) {
  visit("cache", object.cache);
  visit("temporary", object.temporary);
  visit("libraries", object.libraries);
}
template <typename Visit>
void VisitMembers(const ModelLoadRequest& object, Visit&& visit) {
  visit("model", object.model);
  visit("model_lib", object.model_lib);
  visit("device", object.device);
  visit("name", object.name);
}
template <typename Visit>
void VisitMembers(const EngineConfig& object, Visit&& visit) {
  visit("mode", object.mode);
  visit("max_num_sequence", object.max_num_sequence);
  visit("max_total_seq_length", object.max_total_seq_length);
  visit("kv_cache_bytes", object.kv_cache_bytes);
  visit("kv_cache_dtype", object.kv_cache_dtype);
  visit("memory_limit_bytes", object.memory_limit_bytes);
  visit("gpu_memory_utilization", object.gpu_memory_utilization);
  visit("context_window_size", object.context_window_size);
  visit("sliding_window_size", object.sliding_window_size);
  visit("attention_sink_size", object.attention_sink_size);
  visit("prefill_chunk_size", object.prefill_chunk_size);
  visit("prefill_mode", object.prefill_mode);
  visit("max_queued_requests", object.max_queued_requests);
  visit("enable_tracing", object.enable_tracing);
  visit("embedding_pooling", object.embedding_pooling);
  visit("openai_last_chunk", object.openai_last_chunk);
  visit("refuse_unknown_fields", object.refuse_unknown_fields);
  visit("max_history_size", object.max_history_size);
  visit("prefix_cache_mode", object.prefix_cache_mode);
  visit("prefix_cache_max_num_recycling_seqs", object.prefix_cache_max_num_recycling_seqs);
  visit("prefix_cache_dir", object.prefix_cache_dir);
  visit("prefix_cache_ram_bytes", object.prefix_cache_ram_bytes);
  visit("prefix_cache_dir_bytes", object.prefix_cache_dir_bytes);
  visit("prefix_cache_dir_days", object.prefix_cache_dir_days);
  visit("speculative_mode", object.speculative_mode);
  visit("additional_models", object.additional_models);
  visit("mmproj", object.mmproj);
  visit("spec_draft_length", object.spec_draft_length);
  visit("jump_forward", object.jump_forward);
  visit("spec_tree_width", object.spec_tree_width);
  visit("tensor_parallel_shards", object.tensor_parallel_shards);
  visit("pipeline_parallel_stages", object.pipeline_parallel_stages);
  visit("lora_ranks", object.lora_ranks);
  visit("lora_bytes", object.lora_bytes);
  visit("max_loras", object.max_loras);
  visit("num_threads", object.num_threads);
}
template <typename Visit>
void VisitMembers(const ChatCompletionResponseMessage& object, Visit&& visit) {
  visit("role", object.kRole);
  visit("content", object.content);
  visit("refusal", object.refusal);
  visit("reasoning_content", object.reasoning_content);
  visit("tool_calls", object.tool_calls);
}
template <typename Visit>
void VisitMembers(const TopLogprob& object, Visit&& visit) {
  visit("token", object.token);
  visit("logprob", object.logprob);
  visit("bytes", object.bytes);
}
template <typename Visit>
void VisitMembers(const ChatCompletionTokenLogprob& object, Visit&& visit) {
  visit("token", object.token);
  visit("logprob", object.logprob);
  visit("bytes", object.bytes);
  visit("top_logprobs", object.top_logprobs);
}
template <typename Visit>
void VisitMembers(const ChoiceLogprobs& object, Visit&& visit) {
  visit("content", object.content);
  visit("refusal", object.refusal);
}
template <typename Visit>
void VisitMembers(const ChatCompletionChoice& object, Visit&& visit) {
  visit("index", object.index);
  visit("message", object.message);
  visit("logprobs", object.logprobs);
  visit("finish_reason", object.finish_reason);
  visit("stop_reason", object.stop_reason);
}
template <typename Visit>
void VisitMembers(const PromptTokensDetails& object, Visit&& visit) {
  visit("cached_tokens", object.cached_tokens);
}
template <typename Visit>
void VisitMembers(const CompletionTokensDetails& object, Visit&& visit) {
  visit("reasoning_tokens", object.reasoning_tokens);
  visit("accepted_prediction_tokens", object.accepted_prediction_tokens);
  visit("rejected_prediction_tokens", object.rejected_prediction_tokens);
}
template <typename Visit>
void VisitMembers(const CompletionUsageExtra& object, Visit&& visit) {
  visit("prompt_tokens", object.prompt_tokens);
  visit("completion_tokens", object.completion_tokens);
  visit("prefill_tokens", object.prefill_tokens);
  visit("decode_tokens", object.decode_tokens);
  visit("jump_forward_tokens", object.jump_forward_tokens);
  visit("prefill_tokens_per_s", object.prefill_tokens_per_s);
  visit("decode_tokens_per_s", object.decode_tokens_per_s);
  visit("ttft_s", object.ttft_s);
  visit("inter_token_latency_s", object.inter_token_latency_s);
  visit("end_to_end_latency_s", object.end_to_end_latency_s);
  visit("drafted_tokens", object.drafted_tokens);
  visit("accepted_draft_tokens", object.accepted_draft_tokens);
  visit("draft_gain", object.draft_gain);
}
template <typename Visit>
void VisitMembers(const CompletionUsage& object, Visit&& visit) {
  visit("prompt_tokens", object.prompt_tokens);
  visit("completion_tokens", object.completion_tokens);
  visit("total_tokens", object.total_tokens);
  visit("prompt_tokens_details", object.prompt_tokens_details);
  visit("completion_tokens_details", object.completion_tokens_details);
  visit("extra", object.extra);
}
template <typename Visit>
void VisitMembers(const Timings& object, Visit&& visit) {
  visit("cache_n", object.cache_n);
  visit("prompt_n", object.prompt_n);
  visit("prompt_ms", object.prompt_ms);
  visit("prompt_per_token_ms", object.prompt_per_token_ms);
  visit("prompt_per_second", object.prompt_per_second);
  visit("predicted_n", object.predicted_n);
  visit("predicted_ms", object.predicted_ms);
  visit("predicted_per_token_ms", object.predicted_per_token_ms);
  visit("predicted_per_second", object.predicted_per_second);
  visit("draft_n", object.draft_n);
  visit("draft_n_accepted", object.draft_n_accepted);
}
template <typename Visit>
void VisitMembers(const SchemaWarning& object, Visit&& visit) {
  visit("param", object.param);
  visit("path", object.path);
  visit("message", object.message);
}
template <typename Visit>
void VisitMembers(const ChatCompletion& object, Visit&& visit) {
  visit("id", object.id);
  visit("object", object.kObject);
  visit("created", object.created);
  visit("model", object.model);
  visit("choices", object.choices);
  visit("usage", object.usage);
  visit("timings", object.timings);
  visit("warnings", object.warnings);
  visit("system_fingerprint", object.system_fingerprint);
}
template <typename Visit>
void VisitMembers(const ChoiceDeltaFunctionCall& object, Visit&& visit) {
  visit("name", object.name);
  visit("arguments", object.arguments);
}
template <typename Visit>
void VisitMembers(const ChoiceDeltaToolCall& object, Visit&& visit) {
  visit("index", object.index);
  visit("id", object.id);
  visit("type", object.type);
  visit("function", object.function);
}
template <typename Visit>
void VisitMembers(const ChatCompletionChunkDelta& object, Visit&& visit) {
  visit("role", object.role);
  visit("content", object.content);
  visit("reasoning_content", object.reasoning_content);
  visit("refusal", object.refusal);
  visit("tool_calls", object.tool_calls);
}
template <typename Visit>
void VisitMembers(const ChatCompletionChunkChoice& object, Visit&& visit) {
  visit("index", object.index);
  visit("delta", object.delta);
  visit("logprobs", object.logprobs);
  visit("finish_reason", object.finish_reason);
  visit("stop_reason", object.stop_reason);
}
template <typename Visit>
void VisitMembers(const PromptProgress& object, Visit&& visit) {
  visit("total", object.total);
  visit("cache", object.cache);
  visit("processed", object.processed);
  visit("time_ms", object.time_ms);
}
template <typename Visit>
void VisitMembers(const ChatCompletionChunk& object, Visit&& visit) {
  visit("id", object.id);
  visit("object", object.kObject);
  visit("created", object.created);
  visit("model", object.model);
  visit("choices", object.choices);
  visit("usage", object.usage);
  visit("timings", object.timings);
  visit("prompt_progress", object.prompt_progress);
  visit("warnings", object.warnings);
  visit("system_fingerprint", object.system_fingerprint);
}
template <typename Visit>
void VisitMembers(const CompletionLogprobs& object, Visit&& visit) {
  visit("tokens", object.tokens);
  visit("token_logprobs", object.token_logprobs);
  visit("top_logprobs", object.top_logprobs);
  visit("text_offset", object.text_offset);
}
template <typename Visit>
void VisitMembers(const CompletionChoice& object, Visit&& visit) {
  visit("index", object.index);
  visit("text", object.text);
  visit("logprobs", object.logprobs);
  visit("finish_reason", object.finish_reason);
  visit("stop_reason", object.stop_reason);
}
template <typename Visit>
void VisitMembers(const Completion& object, Visit&& visit) {
  visit("id", object.id);
  visit("object", object.kObject);
  visit("created", object.created);
  visit("model", object.model);
  visit("choices", object.choices);
  visit("usage", object.usage);
  visit("timings", object.timings);
  visit("prompt_progress", object.prompt_progress);
  visit("warnings", object.warnings);
  visit("system_fingerprint", object.system_fingerprint);
}
template <typename Visit>
void VisitMembers(const Embedding& object, Visit&& visit) {
  visit("index", object.index);
  visit("object", object.kObject);
  visit("embedding", object.embedding);
}
template <typename Visit>
void VisitMembers(const EmbeddingUsage& object, Visit&& visit) {
  visit("prompt_tokens", object.prompt_tokens);
  visit("total_tokens", object.total_tokens);
}
template <typename Visit>
void VisitMembers(const EmbeddingResponse& object, Visit&& visit) {
  visit("object", object.kObject);
  visit("data", object.data);
  visit("model", object.model);
  visit("usage", object.usage);
}
template <typename Visit>
void VisitMembers(const RerankResult& object, Visit&& visit) {
  visit("index", object.index);
  visit("relevance_score", object.relevance_score);
  visit("document", object.document);
}
template <typename Visit>
void VisitMembers(const RerankResponse& object, Visit&& visit) {
  visit("id", object.id);
  visit("object", object.kObject);
  visit("model", object.model);
  visit("results", object.results);
  visit("usage", object.usage);
}
template <typename Visit>
void VisitMembers(const TokenizeResponse& object, Visit&& visit) {
  visit("tokens", object.tokens);
  visit("count", object.count);
}
template <typename Visit>
void VisitMembers(const DetokenizeResponse& object, Visit&& visit) {
  visit("text", object.text);
}
template <typename Visit>
void VisitMembers(const InputTokensResponse& object, Visit&& visit) {
  visit("input_tokens", object.input_tokens);
}
template <typename Visit>
void VisitMembers(const RenderResponse& object, Visit&& visit) {
  visit("prompt", object.prompt);
}
template <typename Visit>
void VisitMembers(const KVSaveResponse& object, Visit&& visit) {
  visit("tokens", object.tokens);
  visit("bytes", object.bytes);
}
template <typename Visit>
void VisitMembers(const KVLoadResponse& object, Visit&& visit) {
  visit("tokens", object.tokens);
}
template <typename Visit>
void VisitMembers(const KVHeldPrompt& object, Visit&& visit) {
  visit("tokens", object.tokens);
  visit("held", object.held);
}
template <typename Visit>
void VisitMembers(const KVHeldResponse& object, Visit&& visit) {
  visit("prompts", object.prompts);
}
template <typename Visit>
void VisitMembers(const TrimResponse& object, Visit&& visit) {
  visit("pages", object.pages);
  visit("page_bytes", object.page_bytes);
  visit("weight_bytes", object.weight_bytes);
}
template <typename Visit>
void VisitMembers(const PrewarmResponse& object, Visit&& visit) {
  visit("weight_bytes", object.weight_bytes);
}
template <typename Visit>
void VisitMembers(const ThermalLimits& object, Visit&& visit) {
  visit("num_threads", object.num_threads);
  visit("max_num_sequence", object.max_num_sequence);
  visit("prefill_chunk_size", object.prefill_chunk_size);
}
template <typename Visit>
void VisitMembers(const AdapterInfo& object, Visit&& visit) {
  visit("name", object.name);
  visit("rank", object.rank);
  visit("hash", object.hash);
}
template <typename Visit>
void VisitMembers(const AdapterList& object, Visit&& visit) {
  visit("adapters", object.adapters);
  visit("ranks", object.ranks);
  visit("free_ranks", object.free_ranks);
}
template <typename Visit>
void VisitMembers(const ModelObject& object, Visit&& visit) {
  visit("id", object.id);
  visit("object", object.kObject);
  visit("created", object.created);
  visit("owned_by", object.owned_by);
  visit("status", object.status);
  visit("progress", object.progress);
  visit("input_modalities", object.input_modalities);
  visit("parent", object.parent);
  visit("root", object.root);
}
template <typename Visit>
void VisitMembers(const ModelList& object, Visit&& visit) {
  visit("object", object.kObject);
  visit("data", object.data);
}
template <typename Visit>
void VisitMembers(const DeviceProbe& object, Visit&& visit) {
  visit("name", object.name);
  visit("found", object.found);
  visit("reason", object.reason);
  visit("description", object.description);
  visit("memory_bytes", object.memory_bytes);
  visit("max_buffer_bytes", object.max_buffer_bytes);
  visit("local_memory_bytes", object.local_memory_bytes);
  visit("max_group_size", object.max_group_size);
  visit("f16", object.f16);
  visit("is_processor", object.is_processor);
}
template <typename Visit>
void VisitMembers(const RequestMetrics& object, Visit&& visit) {
  visit("prompt_tokens", object.prompt_tokens);
  visit("completion_tokens", object.completion_tokens);
  visit("prefill_tokens", object.prefill_tokens);
  visit("decode_tokens", object.decode_tokens);
  visit("jump_forward_tokens", object.jump_forward_tokens);
  visit("prefill_tokens_per_s", object.prefill_tokens_per_s);
  visit("decode_tokens_per_s", object.decode_tokens_per_s);
  visit("ttft_s", object.ttft_s);
  visit("inter_token_latency_s", object.inter_token_latency_s);
  visit("end_to_end_latency_s", object.end_to_end_latency_s);
  visit("drafted_tokens", object.drafted_tokens);
  visit("accepted_draft_tokens", object.accepted_draft_tokens);
  visit("draft_gain", object.draft_gain);
}
template <typename Visit>
void VisitMembers(const KnownTextMetrics& object, Visit&& visit) {
  visit("draft_count", object.draft_count);
  visit("accept_count", object.accept_count);
}
template <typename Visit>
void VisitMembers(const SpecDecodeMetrics& object, Visit&& visit) {
  visit("draft_count", object.draft_count);
  visit("accept_count", object.accept_count);
  visit("accept_prob", object.accept_prob);
  visit("accept_rate", object.accept_rate);
  visit("accept_len", object.accept_len);
}
template <typename Visit>
void VisitMembers(const EngineMetrics& object, Visit&& visit) {
  visit("engine_prefill_time_sum", object.engine_prefill_time_sum);
  visit("engine_decode_time_sum", object.engine_decode_time_sum);
  visit("engine_jump_forward_time_sum", object.engine_jump_forward_time_sum);
  visit("prompt_tokens_sum", object.prompt_tokens_sum);
  visit("prefill_tokens_sum", object.prefill_tokens_sum);
  visit("decode_tokens_sum", object.decode_tokens_sum);
  visit("jump_forward_tokens_sum", object.jump_forward_tokens_sum);
  visit("completion_tokens_sum", object.completion_tokens_sum);
  visit("prefill_tokens_per_s", object.prefill_tokens_per_s);
  visit("decode_tokens_per_s", object.decode_tokens_per_s);
  visit("kv_pages_total", object.kv_pages_total);
  visit("kv_pages_free", object.kv_pages_free);
  visit("num_running_sequences", object.num_running_sequences);
  visit("num_waiting_sequences", object.num_waiting_sequences);
  visit("num_queued_requests", object.num_queued_requests);
  visit("num_steps", object.num_steps);
  visit("num_preemptions", object.num_preemptions);
  visit("restored_tokens_sum", object.restored_tokens_sum);
  visit("written_blocks_sum", object.written_blocks_sum);
  visit("prefix_cache_ram_bytes", object.prefix_cache_ram_bytes);
  visit("device_read_bytes_sum", object.device_read_bytes_sum);
  visit("encoded_pictures_sum", object.encoded_pictures_sum);
  visit("engine_encode_time_sum", object.engine_encode_time_sum);
  visit("picture_cache_hits_sum", object.picture_cache_hits_sum);
  visit("picture_cache_bytes", object.picture_cache_bytes);
  visit("num_finished_requests", object.num_finished_requests);
  visit("num_failed_requests", object.num_failed_requests);
  visit("last_finished_request", object.last_finished_request);
  visit("jump_forward", object.jump_forward);
  visit("prediction", object.prediction);
  visit("prompt_lookup", object.prompt_lookup);
  visit("drafted_tokens_sum", object.drafted_tokens_sum);
  visit("accepted_draft_tokens_sum", object.accepted_draft_tokens_sum);
  visit("draft_gain", object.draft_gain);
  visit("spec_decode", object.spec_decode);
  visit("decode_time_by_batch_size", object.decode_time_by_batch_size);
  visit("draft_time_by_batch_size", object.draft_time_by_batch_size);
  visit("verify_time_by_batch_size", object.verify_time_by_batch_size);
}
template <typename Visit>
void VisitMembers(const Plan& object, Visit&& visit) {
  visit("model", object.model);
  visit("model_type", object.model_type);
  visit("quantization", object.quantization);
  visit("device", object.device);
  visit("mode", object.mode);
  visit("max_num_sequence", object.max_num_sequence);
  visit("max_total_seq_length", object.max_total_seq_length);
  visit("context_window_size", object.context_window_size);
  visit("context_limit", object.context_limit);
  visit("prefill_chunk_size", object.prefill_chunk_size);
  visit("kv_bytes_per_token", object.kv_bytes_per_token);
  visit("kv_cache_dtype", object.kv_cache_dtype);
  visit("parameter_bytes", object.parameter_bytes);
  visit("table_bytes", object.table_bytes);
  visit("kv_cache_bytes", object.kv_cache_bytes);
  visit("lora_ranks", object.lora_ranks);
  visit("adapter_bytes", object.adapter_bytes);
  visit("temporary_bytes", object.temporary_bytes);
  visit("total_bytes", object.total_bytes);
  visit("prefix_cache_ram_bytes", object.prefix_cache_ram_bytes);
  visit("available_bytes", object.available_bytes);
  visit("input_modalities", object.input_modalities);
  visit("fits", object.fits);
  visit("reason", object.reason);
  visit("summary", object.summary);
}
template <typename Visit>
void VisitMembers(const ErrorObject& object, Visit&& visit) {
  visit("message", object.message);
  visit("type", object.type);
  visit("param", object.param);
  visit("code", object.code);
  visit("status", object.status);
}
template <typename Visit>
void VisitMembers(const ErrorResponse& object, Visit&& visit) {
  visit("error", object.error);
}

// The name of the member that a union holds.
inline const char* HeldVariant(const ImageSource& held) {
  static constexpr const char* kNames[] = {"url", "image"};
  return kNames[held.value.index()];
}
inline const char* HeldVariant(const ChatCompletionContentPart& held) {
  static constexpr const char* kNames[] = {"text", "image_url"};
  return kNames[held.value.index()];
}
inline const char* HeldVariant(const ChatCompletionMessageContent& held) {
  static constexpr const char* kNames[] = {"text", "parts"};
  return kNames[held.value.index()];
}
inline const char* HeldVariant(const Stop& held) {
  static constexpr const char* kNames[] = {"text", "texts"};
  return kNames[held.value.index()];
}
inline const char* HeldVariant(const ToolChoice& held) {
  static constexpr const char* kNames[] = {"mode", "named"};
  return kNames[held.value.index()];
}
inline const char* HeldVariant(const JsonSchemaSource& held) {
  static constexpr const char* kNames[] = {"text", "object"};
  return kNames[held.value.index()];
}
inline const char* HeldVariant(const ResponseFormat& held) {
  static constexpr const char* kNames[] = {"text",  "json_object", "json_schema",
                                           "regex", "grammar",     "structural_tag"};
  return kNames[held.value.index()];
}
inline const char* HeldVariant(const Lora& held) {
  static constexpr const char* kNames[] = {"name", "uses"};
  return kNames[held.value.index()];
}
inline const char* HeldVariant(const ChatCompletionPredictionText& held) {
  static constexpr const char* kNames[] = {"text", "parts"};
  return kNames[held.value.index()];
}
inline const char* HeldVariant(const PromptItem& held) {
  static constexpr const char* kNames[] = {"text", "token", "tokens"};
  return kNames[held.value.index()];
}
inline const char* HeldVariant(const Prompt& held) {
  static constexpr const char* kNames[] = {"text", "items"};
  return kNames[held.value.index()];
}
inline const char* HeldVariant(const RerankInput& held) {
  static constexpr const char* kNames[] = {"text", "document"};
  return kNames[held.value.index()];
}
inline const char* HeldVariant(const EmbeddingVector& held) {
  static constexpr const char* kNames[] = {"numbers", "base64"};
  return kNames[held.value.index()];
}

// Calls `act` with a default value of the struct that is called so; false when none is.
template <typename Act>
bool WithStruct(std::string_view name, Act&& act) {
  if (name == "ChatCompletionContentPartText") return act(ChatCompletionContentPartText()), true;
  if (name == "ImageURL") return act(ImageURL()), true;
  if (name == "ChatCompletionContentPartImage") return act(ChatCompletionContentPartImage()), true;
  if (name == "FunctionCall") return act(FunctionCall()), true;
  if (name == "ChatCompletionMessageToolCall") return act(ChatCompletionMessageToolCall()), true;
  if (name == "ChatCompletionMessage") return act(ChatCompletionMessage()), true;
  if (name == "StreamOptions") return act(StreamOptions()), true;
  if (name == "FunctionDefinition") return act(FunctionDefinition()), true;
  if (name == "ChatCompletionTool") return act(ChatCompletionTool()), true;
  if (name == "NamedFunction") return act(NamedFunction()), true;
  if (name == "ChatCompletionNamedToolChoice") return act(ChatCompletionNamedToolChoice()), true;
  if (name == "ResponseFormatText") return act(ResponseFormatText()), true;
  if (name == "ResponseFormatJSONObject") return act(ResponseFormatJSONObject()), true;
  if (name == "JSONSchema") return act(JSONSchema()), true;
  if (name == "ResponseFormatJSONSchema") return act(ResponseFormatJSONSchema()), true;
  if (name == "ResponseFormatRegex") return act(ResponseFormatRegex()), true;
  if (name == "ResponseFormatGrammar") return act(ResponseFormatGrammar()), true;
  if (name == "StructuralTag") return act(StructuralTag()), true;
  if (name == "ResponseFormatStructuralTag") return act(ResponseFormatStructuralTag()), true;
  if (name == "LoraUse") return act(LoraUse()), true;
  if (name == "DebugConfig") return act(DebugConfig()), true;
  if (name == "ChatCompletionPrediction") return act(ChatCompletionPrediction()), true;
  if (name == "ChatCompletionRequest") return act(ChatCompletionRequest()), true;
  if (name == "CompletionRequest") return act(CompletionRequest()), true;
  if (name == "EmbeddingRequest") return act(EmbeddingRequest()), true;
  if (name == "RerankDocument") return act(RerankDocument()), true;
  if (name == "RerankRequest") return act(RerankRequest()), true;
  if (name == "TokenizeRequest") return act(TokenizeRequest()), true;
  if (name == "DetokenizeRequest") return act(DetokenizeRequest()), true;
  if (name == "KVSaveRequest") return act(KVSaveRequest()), true;
  if (name == "KVLoadRequest") return act(KVLoadRequest()), true;
  if (name == "KVHeldRequest") return act(KVHeldRequest()), true;
  if (name == "TrimRequest") return act(TrimRequest()), true;
  if (name == "PrewarmRequest") return act(PrewarmRequest()), true;
  if (name == "ThermalHint") return act(ThermalHint()), true;
  if (name == "AdapterLoadRequest") return act(AdapterLoadRequest()), true;
  if (name == "AdapterUnloadRequest") return act(AdapterUnloadRequest()), true;
  if (name == "AdapterListRequest") return act(AdapterListRequest()), true;
  if (name == "Directories") return act(Directories()), true;
  if (name == "ModelLoadRequest") return act(ModelLoadRequest()), true;
  if (name == "EngineConfig") return act(EngineConfig()), true;
  if (name == "ChatCompletionResponseMessage") return act(ChatCompletionResponseMessage()), true;
  if (name == "TopLogprob") return act(TopLogprob()), true;
  if (name == "ChatCompletionTokenLogprob") return act(ChatCompletionTokenLogprob()), true;
  if (name == "ChoiceLogprobs") return act(ChoiceLogprobs()), true;
  if (name == "ChatCompletionChoice") return act(ChatCompletionChoice()), true;
  if (name == "PromptTokensDetails") return act(PromptTokensDetails()), true;
  if (name == "CompletionTokensDetails") return act(CompletionTokensDetails()), true;
  if (name == "CompletionUsageExtra") return act(CompletionUsageExtra()), true;
  if (name == "CompletionUsage") return act(CompletionUsage()), true;
  if (name == "Timings") return act(Timings()), true;
  if (name == "SchemaWarning") return act(SchemaWarning()), true;
  if (name == "ChatCompletion") return act(ChatCompletion()), true;
  if (name == "ChoiceDeltaFunctionCall") return act(ChoiceDeltaFunctionCall()), true;
  if (name == "ChoiceDeltaToolCall") return act(ChoiceDeltaToolCall()), true;
  if (name == "ChatCompletionChunkDelta") return act(ChatCompletionChunkDelta()), true;
  if (name == "ChatCompletionChunkChoice") return act(ChatCompletionChunkChoice()), true;
  if (name == "PromptProgress") return act(PromptProgress()), true;
  if (name == "ChatCompletionChunk") return act(ChatCompletionChunk()), true;
  if (name == "CompletionLogprobs") return act(CompletionLogprobs()), true;
  if (name == "CompletionChoice") return act(CompletionChoice()), true;
  if (name == "Completion") return act(Completion()), true;
  if (name == "Embedding") return act(Embedding()), true;
  if (name == "EmbeddingUsage") return act(EmbeddingUsage()), true;
  if (name == "EmbeddingResponse") return act(EmbeddingResponse()), true;
  if (name == "RerankResult") return act(RerankResult()), true;
  if (name == "RerankResponse") return act(RerankResponse()), true;
  if (name == "TokenizeResponse") return act(TokenizeResponse()), true;
  if (name == "DetokenizeResponse") return act(DetokenizeResponse()), true;
  if (name == "InputTokensResponse") return act(InputTokensResponse()), true;
  if (name == "RenderResponse") return act(RenderResponse()), true;
  if (name == "KVSaveResponse") return act(KVSaveResponse()), true;
  if (name == "KVLoadResponse") return act(KVLoadResponse()), true;
  if (name == "KVHeldPrompt") return act(KVHeldPrompt()), true;
  if (name == "KVHeldResponse") return act(KVHeldResponse()), true;
  if (name == "TrimResponse") return act(TrimResponse()), true;
  if (name == "PrewarmResponse") return act(PrewarmResponse()), true;
  if (name == "ThermalLimits") return act(ThermalLimits()), true;
  if (name == "AdapterInfo") return act(AdapterInfo()), true;
  if (name == "AdapterList") return act(AdapterList()), true;
  if (name == "ModelObject") return act(ModelObject()), true;
  if (name == "ModelList") return act(ModelList()), true;
  if (name == "DeviceProbe") return act(DeviceProbe()), true;
  if (name == "RequestMetrics") return act(RequestMetrics()), true;
  if (name == "KnownTextMetrics") return act(KnownTextMetrics()), true;
  if (name == "SpecDecodeMetrics") return act(SpecDecodeMetrics()), true;
  if (name == "EngineMetrics") return act(EngineMetrics()), true;
  if (name == "Plan") return act(Plan()), true;
  if (name == "ErrorObject") return act(ErrorObject()), true;
  if (name == "ErrorResponse") return act(ErrorResponse()), true;
  return false;
}

}  // namespace mlc::protocol
