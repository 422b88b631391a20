#include "chat/engine_options.h"

#include <algorithm>

namespace mlc {
namespace {

Status Refuse(const char* param, const char* why) {
  return Unsupported(std::string("engine setting '") + param + "' " + why).WithParam(param);
}

Status CheckSupported(const protocol::EngineConfig& config) {
  if (config.speculative_mode.value_or(protocol::SpeculativeMode::kDisable) !=
      protocol::SpeculativeMode::kDisable) {
    return Refuse("speculative_mode", "is not supported yet");
  }
  if (config.prefix_cache_mode == protocol::PrefixCacheMode::kRadix) {
    return Refuse("prefix_cache_mode", "radix is not supported yet; use disable");
  }
  if (config.prefill_mode == protocol::PrefillMode::kChunked) {
    return Refuse("prefill_mode", "chunked is not supported yet; use hybrid");
  }
  if (config.tensor_parallel_shards.value_or(1) > 1) {
    return Refuse("tensor_parallel_shards", "over 1 is not supported");
  }
  if (config.pipeline_parallel_stages.value_or(1) > 1) {
    return Refuse("pipeline_parallel_stages", "over 1 is not supported");
  }
  if (config.spec_draft_length || config.spec_tree_width) {
    return Refuse("spec_draft_length", "needs speculative decoding, which is not supported yet");
  }
  if (config.max_history_size) return Refuse("max_history_size", "is not supported yet");
  if (config.sliding_window_size || config.attention_sink_size) {
    return Refuse("sliding_window_size", "is fixed when the model is compiled");
  }
  return Status();
}

// MLC-LLM's defaults of a mode.
struct ModeDefaults {
  int64_t max_sequences, max_total_tokens;
};

ModeDefaults DefaultsOf(protocol::EngineMode mode, const ModelInfo& model, int64_t context) {
  switch (mode) {
    case protocol::EngineMode::kInteractive:
      return {1, context};
    case protocol::EngineMode::kServer:
      return {model.max_batch_size, context * model.max_batch_size};
    case protocol::EngineMode::kLocal:
      break;
  }
  return {std::min(4, model.max_batch_size), std::min<int64_t>(context, 8192)};
}

}  // namespace

Result<EngineOptions> ResolveEngineOptions(const protocol::EngineConfig& config,
                                           const ModelInfo& model, int64_t memory_bytes) {
  MLC_RETURN_IF_ERROR(CheckSupported(config));
  if (config.context_window_size.value_or(0) > model.context_window_size) {
    return InvalidArgument("context_window_size is " + std::to_string(*config.context_window_size) +
                           ", more than the " + std::to_string(model.context_window_size) +
                           " tokens that the model was compiled for")
        .WithParam("context_window_size");
  }
  int64_t context = config.context_window_size.value_or(model.context_window_size);
  if (context <= 0) context = model.context_window_size;
  ModeDefaults defaults =
      DefaultsOf(config.mode.value_or(protocol::EngineMode::kLocal), model, context);
  int64_t kv_bytes = std::min(config.kv_cache_bytes.value_or(memory_bytes), memory_bytes);
  int64_t tokens_that_fit =
      kv_bytes / std::max<int64_t>(1, model.page_bytes) * int64_t{model.page_size};
  int64_t total =
      std::min(config.max_total_seq_length.value_or(defaults.max_total_tokens), tokens_that_fit);
  if (tokens_that_fit < 2 * model.page_size) {
    return ResourceExhausted("the KV cache needs at least " + std::to_string(2 * model.page_bytes) +
                             " bytes and may take " + std::to_string(kv_bytes) +
                             "; free some memory or raise kv_cache_bytes or max_total_seq_length")
        .WithParam("max_total_seq_length");
  }
  EngineOptions options;
  options.max_sequences = static_cast<int>(std::min<int64_t>(
      config.max_num_sequence.value_or(defaults.max_sequences), model.max_batch_size));
  options.max_total_tokens = static_cast<int>(std::min<int64_t>(total, INT32_MAX / 2));
  options.context_window_size = static_cast<int>(context);
  options.prefill_chunk_size = static_cast<int>(std::min<int64_t>(
      config.prefill_chunk_size.value_or(model.prefill_chunk_size), model.prefill_chunk_size));
  return options;
}

}  // namespace mlc
