#include "chat/load/engine_options.h"

#include <algorithm>

#include "platform/host.h"

namespace mlc {
namespace {

Status Refuse(const char* param, const char* why) {
  return Unsupported(std::string("engine setting '") + param + "' " + why).WithParam(param);
}

Status CheckSupported(const protocol::EngineConfig& config) {
  if (config.pipeline_parallel_stages.value_or(1) > 1) {
    return Refuse("pipeline_parallel_stages",
                  "over 1 is not supported: devices share each layer (tensor_parallel_shards); "
                  "leave it out");
  }
#if defined(__EMSCRIPTEN__)
  if (config.prefix_cache_dir) return Refuse("prefix_cache_dir", "is not supported in a browser");
  if (config.prefix_cache_ram_bytes.value_or(0) > 0) {
    return Refuse("prefix_cache_ram_bytes", "is not supported in a browser");
  }
#endif
  if (config.mmproj) {
    return Refuse("mmproj",
                  "is for a GGUF model, which the Python package converts (mlc_llm pull); leave it "
                  "out of the settings of a converted one");
  }
  if (config.max_history_size) return Refuse("max_history_size", "is not supported yet");
  return Status();
}

// The window is compiled into the kernels, so the config must ask for the same window.
Status CheckWindow(const protocol::EngineConfig& config, const ModelInfo& model) {
  auto check = [](const char* name, std::optional<int64_t> wanted, int64_t compiled) {
    if (!wanted || *wanted == compiled) return Status();
    return Unsupported(std::string(name) + " is " + std::to_string(*wanted) +
                       ", but the model was compiled with " + std::to_string(compiled) +
                       "; set it with gen_config and compile the model again")
        .WithParam(name);
  };
  MLC_RETURN_IF_ERROR(
      check("sliding_window_size", config.sliding_window_size, model.sliding_window_size));
  return check("attention_sink_size", config.attention_sink_size, model.attention_sink_size);
}

// So is what each shard computes.
Status CheckShards(const protocol::EngineConfig& config, const ModelInfo& model) {
  std::string shards = std::to_string(model.num_shards);
  int64_t wanted = config.tensor_parallel_shards.value_or(model.num_shards);
  if (wanted != model.num_shards) {
    return Unsupported("tensor_parallel_shards is " + std::to_string(wanted) +
                       ", but the model was compiled with " + shards +
                       "; leave it out, or compile the model with --tensor-parallel-shards " +
                       std::to_string(wanted))
        .WithParam("tensor_parallel_shards");
  }
  int64_t threads = config.num_threads.value_or(model.num_shards);
  if (threads >= model.num_shards || !model.takes_cores) return Status();
  return InvalidArgument("num_threads is " + std::to_string(threads) + ", but each of the " +
                         shards + " shards needs a thread; leave it out, or give at least " +
                         shards)
      .WithParam("num_threads");
}

Status CheckPrefixRam(const protocol::EngineConfig& config, const ModelInfo& model) {
  if (config.prefix_cache_ram_bytes.value_or(0) == 0 || !model.takes_cores) return Status();
  return InvalidArgument(
             "prefix_cache_ram_bytes is for GPUs: a CPU has its KV cache in the same memory; leave "
             "it out, and raise max_total_seq_length instead")
      .WithParam("prefix_cache_ram_bytes");
}

// The host's memory for what the prefix cache of a device with its own memory has to drop.
int64_t PrefixRamBytes(const protocol::EngineConfig& config, const EngineOptions& options,
                       const ModelInfo& model) {
  if (!options.prefix_cache || model.is_encoder) return 0;
  int64_t wanted = model.has_own_memory ? 2 * PoolBytes(options, model) : 0;
  if (wanted > 0) wanted = std::min(wanted, AvailableMemoryBytes() / 4);
  return config.prefix_cache_ram_bytes.value_or(wanted);
}

// The precision is compiled into the kernels too.
Status CheckKVCacheDType(const protocol::EngineConfig& config, const ModelInfo& model) {
  if (!config.kv_cache_dtype) return Status();
  std::string wanted(wire::ToWord(*config.kv_cache_dtype));
  if (wanted == model.kv_cache_dtype) return Status();
  return Unsupported("kv_cache_dtype is " + wanted + ", but the model library keeps keys and " +
                     "values as " + model.kv_cache_dtype + "; leave it out, or compile the " +
                     "model with --kv-cache-dtype " + wanted)
      .WithParam("kv_cache_dtype");
}

int GroupsOf(int64_t ranks) {
  return static_cast<int>((ranks + AdapterSpec::kRanks - 1) / AdapterSpec::kRanks);
}

Status CheckAdapterBytes(const protocol::EngineConfig& config, int64_t ranks,
                         const ModelInfo& model) {
  int64_t each = model.adapters->group_bytes(), bytes = GroupsOf(ranks) * each;
  if (!config.lora_bytes || bytes <= *config.lora_bytes) return Status();
  int64_t fitting = each == 0 ? 0 : *config.lora_bytes / each * AdapterSpec::kRanks;
  return ResourceExhausted("lora_ranks is " + std::to_string(ranks) + ", which takes " +
                           std::to_string(bytes) + " bytes, but lora_bytes is " +
                           std::to_string(*config.lora_bytes) + "; raise it, or set lora_ranks " +
                           "to at most " + std::to_string(fitting))
      .WithParam("lora_bytes");
}

Status CheckAdapters(const protocol::EngineConfig& config, int64_t ranks, const ModelInfo& model) {
  if (ranks == 0) return Status();
  if (model.adapters != nullptr) return CheckAdapterBytes(config, ranks, model);
  std::string compiled = "compile the model with --lora";
  if (model.num_shards > 1) compiled += " and one shard: several shards take no adapters";
  return Unsupported("lora_ranks is " + std::to_string(ranks) +
                     ", but the model library takes no adapters; leave it out, or " + compiled)
      .WithParam("lora_ranks");
}

// The most KV tokens that one sequence can use.
int64_t TokensOfSequence(const ModelInfo& model, int64_t context) {
  if (model.sliding_window_size <= 0) return context;
  int64_t held = int64_t{model.sliding_window_size} + model.attention_sink_size +
                 model.prefill_chunk_size + 2 * model.page_size;
  return std::min(context, held);
}

// The defaults of a mode: MLC-LLM's, but for the number of local sequences (there always 4).
struct ModeDefaults {
  int64_t max_sequences, max_total_tokens, prefill_chunk;
};

ModeDefaults DefaultsOf(protocol::EngineMode mode, const ModelInfo& model, int64_t context) {
  // Windowed pages hold the rows of a step besides the windows, and few rows more are faster. On a
  // CPU 512 rows are as fast as any number, and take little memory; but a picture whose rows see
  // each other may have more.
  constexpr int64_t kWindowedChunk = 1024, kCpuChunk = 512;
  int64_t chunk = model.prefill_chunk_size;
  if (model.has_windowed_pages()) chunk = std::min(chunk, kWindowedChunk);
  bool few_suffice = model.takes_cores && model.tower_bytes == 0 && !model.is_encoder;
  if (few_suffice) chunk = std::min(chunk, kCpuChunk);
  // The pages of an encoder hold the texts of one step.
  if (model.is_encoder) {
    int64_t sequences = std::min<int64_t>(model.max_batch_size, chunk);
    return {sequences, chunk + sequences * model.page_size, chunk};
  }
  switch (mode) {
    case protocol::EngineMode::kInteractive:
      return {1, context, std::min(chunk, context)};
    case protocol::EngineMode::kServer:
      return {model.max_batch_size, context * model.max_batch_size, chunk};
    case protocol::EngineMode::kLocal:
      break;
  }
  int64_t tokens = std::min<int64_t>(context, 8192);
  // All sequences share the pages; a recurrent state belongs to one sequence.
  int sequences = model.state_bytes > 0 ? 4 : 16;
  return {std::min(sequences, model.max_batch_size), tokens, std::min(chunk, tokens)};
}

// The memory that the KV cache may use, besides the weights and the temporaries.
int64_t KVBytes(const protocol::EngineConfig& config, const EngineOptions& options,
                const ModelInfo& model, int64_t available_bytes) {
  double share = config.gpu_memory_utilization.value_or(0.85);
  auto budget = static_cast<int64_t>(share * static_cast<double>(available_bytes));
  budget = std::min(budget, config.memory_limit_bytes.value_or(budget));
  int64_t rest = budget - model.weight_bytes - AdapterBytes(options, model) -
                 TemporaryBytes(options, model) - NumStates(options, model) * model.state_bytes;
  return std::min(rest, config.kv_cache_bytes.value_or(rest));
}

// The bytes of the pages that hold the same positions.
int64_t BytesOfAllGroups(const ModelInfo& model) {
  return model.page_bytes + model.windowed_page_bytes;
}

// How many pages of the first group fit into that memory, with those of the other one. The pages of
// a model of states alone take none.
int64_t PagesThatFit(EngineOptions options, const ModelInfo& model, int64_t kv_bytes) {
  int64_t fitting = kv_bytes < 0 ? 0 : INT32_MAX;
  if (model.page_bytes > 0) fitting = kv_bytes / BytesOfAllGroups(model);
  if (model.has_windowed_pages()) {
    options.max_total_tokens = INT32_MAX / 2;
    int64_t windowed = NumPages(options, model)[1];  // the most
    int64_t rest = kv_bytes - windowed * model.windowed_page_bytes;
    if (fitting > windowed) fitting = rest / model.page_bytes;
  }
  return model.max_pages > 0 ? std::min(fitting, model.max_pages) : fitting;
}

// What would allow a sequence longer than `total` tokens, or than the context that is set.
std::string LongerBy(const protocol::EngineConfig& config, const ModelInfo& model, int64_t longest,
                     int64_t total, int64_t tokens_that_fit) {
  if (model.is_encoder || model.sliding_window_size > 0) return "";
  if (total >= longest) {
    bool is_set = config.context_window_size && longest < model.context_window_size;
    return is_set ? "A larger context_window_size allows more, up to " +
                        std::to_string(model.context_window_size) + "."
                  : "";
  }
  std::string smaller_pages =
      model.kv_cache_dtype == "q8" ? "" : "; kv_cache_dtype q8 holds about twice as many tokens";
  if (total < tokens_that_fit) {
    return "A larger max_total_seq_length allows more: " +
           std::to_string(std::min(longest, tokens_that_fit)) + " tokens fit into memory" +
           smaller_pages + ".";
  }
  return "More do not fit into the memory beside the weights: free some, raise the limit that is "
         "set, or choose a smaller quantization" +
         smaller_pages + ".";
}

Status NoRoom(const EngineOptions& options, const ModelInfo& model, int64_t kv_bytes) {
  int64_t states = NumStates(options, model) * model.state_bytes;
  bool has_pages = model.page_bytes > 0;
  int64_t needed = has_pages ? 2 * BytesOfAllGroups(model) : states;
  int64_t allowed = has_pages ? kv_bytes : kv_bytes + states;
  std::string what = has_pages ? "the KV cache needs at least "
                               : "the states of " + std::to_string(options.max_sequences) +
                                     " sequences (max_num_sequence) need ";
  return ResourceExhausted(what + std::to_string(needed) + " bytes and may take " +
                           std::to_string(std::max<int64_t>(0, allowed)) +
                           ", beside weights and temporaries; free some memory, choose a smaller "
                           "model or quantization, or raise the limit that is set")
      .WithParam(has_pages ? "max_total_seq_length" : "max_num_sequence");
}

Status CheckContext(const protocol::EngineConfig& config, const ModelInfo& model) {
  if (model.sliding_window_size > 0) return Status();
  if (config.context_window_size.value_or(0) <= model.context_window_size) return Status();
  return InvalidArgument("context_window_size is " + std::to_string(*config.context_window_size) +
                         ", more than the " + std::to_string(model.context_window_size) +
                         " tokens that the model was compiled for")
      .WithParam("context_window_size");
}

}  // namespace

int64_t AdapterBytes(const EngineOptions& options, const ModelInfo& model) {
  return model.adapters == nullptr ? 0 : options.adapter_groups * model.adapters->group_bytes();
}

int64_t TemporaryBytes(const EngineOptions& options, const ModelInfo& model) {
  int64_t pictures = model.tower_bytes > 0 ? model.tower_bytes + options.row_cache_bytes : 0;
  int64_t row_bytes = model.row_bytes + model.unit_bytes * options.adapter_groups;  // the most
  return model.step_bytes + pictures + row_bytes * options.prefill_chunk_size +
         (model.logit_row_bytes + model.decode_row_bytes) * options.max_sequences;
}

Result<EngineOptions> ResolveEngineOptions(const protocol::EngineConfig& config,
                                           const ModelInfo& model, int64_t available_bytes) {
  MLC_RETURN_IF_ERROR(CheckSupported(config));
  MLC_RETURN_IF_ERROR(CheckContext(config, model));
  MLC_RETURN_IF_ERROR(CheckWindow(config, model));
  MLC_RETURN_IF_ERROR(CheckShards(config, model));
  MLC_RETURN_IF_ERROR(CheckKVCacheDType(config, model));
  MLC_RETURN_IF_ERROR(CheckPrefixRam(config, model));
  int64_t ranks = config.lora_ranks.value_or(0);
  MLC_RETURN_IF_ERROR(CheckAdapters(config, ranks, model));
  int64_t context = config.context_window_size.value_or(model.context_window_size);
  int64_t longest = TokensOfSequence(model, context);
  ModeDefaults defaults =
      DefaultsOf(config.mode.value_or(protocol::EngineMode::kLocal), model, longest);
  EngineOptions options;
  options.adapter_groups = GroupsOf(ranks);
  options.max_adapters = static_cast<int>(config.max_loras.value_or(INT32_MAX));
  options.max_sequences = static_cast<int>(std::min<int64_t>(
      config.max_num_sequence.value_or(defaults.max_sequences), model.max_batch_size));
  options.context_window_size = static_cast<int>(context);
  if (model.sliding_window_size > 0 && !config.context_window_size) {
    options.context_window_size = 0;  // the window slides
  }
  options.draft_shape.length = static_cast<int>(
      std::min<int64_t>(config.spec_draft_length.value_or(0), model.prefill_chunk_size));
  options.draft_shape.width = static_cast<int>(config.spec_tree_width.value_or(1));
  options.prefill_chunk_size = static_cast<int>(std::min<int64_t>(
      config.prefill_chunk_size.value_or(defaults.prefill_chunk), model.prefill_chunk_size));
  options.prefix_cache = config.prefix_cache_mode != protocol::PrefixCacheMode::kDisable;
  int64_t kv_bytes = KVBytes(config, options, model, available_bytes);
  int64_t tokens_that_fit = PagesThatFit(options, model, kv_bytes) * model.page_size;
  if (tokens_that_fit < 2 * model.page_size) return NoRoom(options, model, kv_bytes);
  int64_t total =
      std::min(config.max_total_seq_length.value_or(defaults.max_total_tokens), tokens_that_fit);
  options.longer_by = LongerBy(config, model, longest, total, tokens_that_fit);
  options.max_total_tokens = static_cast<int>(std::min<int64_t>(total, INT32_MAX / 2));
  options.max_queued_requests = static_cast<int>(config.max_queued_requests.value_or(1024));
  options.jump_forward = config.jump_forward.value_or(true);
  options.enable_tracing = config.enable_tracing.value_or(false);
  if (config.prefill_mode == protocol::PrefillMode::kChunked) {
    options.prefill_mode = PrefillMode::kChunked;
  }
  PrefixFolder& folder = options.prefix_places.folder;
  folder.path = config.prefix_cache_dir.value_or("");
  folder.max_bytes = config.prefix_cache_dir_bytes.value_or(folder.max_bytes);
  folder.max_days = static_cast<int>(config.prefix_cache_dir_days.value_or(folder.max_days));
  options.prefix_places.memory_bytes = PrefixRamBytes(config, options, model);
  options.max_cached_sequences = static_cast<int>(
      std::min<int64_t>(config.prefix_cache_max_num_recycling_seqs.value_or(-1), INT32_MAX));
  return options;
}

}  // namespace mlc
