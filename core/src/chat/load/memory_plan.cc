#include "chat/load/memory_plan.h"

#include <algorithm>
#include <cstdio>

#include "chat/load/engine_options.h"

namespace mlc {
namespace {

constexpr int64_t kUnlimited = int64_t{1} << 60;

std::string Megabytes(int64_t bytes) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.3f MB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

// The lines that users of MLC-LLM know.
std::vector<std::string> Summarize(const protocol::Plan& plan) {
  bool on_cpu = plan.device.rfind("cpu", 0) == 0;
  return {"The actual engine mode is \"" + plan.mode + "\". So max batch size is " +
              std::to_string(plan.max_num_sequence) + ", max KV cache token capacity is " +
              std::to_string(plan.max_total_seq_length) + ", prefill chunk size is " +
              std::to_string(plan.prefill_chunk_size) + ".",
          std::string("Estimated total ") + (on_cpu ? "" : "single GPU ") + "memory usage: " +
              Megabytes(plan.total_bytes) + " (Parameters: " + Megabytes(plan.parameter_bytes) +
              ". KVCache: " + Megabytes(plan.kv_cache_bytes) +
              (plan.adapter_bytes == 0 ? "" : ". Adapters: " + Megabytes(plan.adapter_bytes)) +
              ". Temporary buffer: " + Megabytes(plan.temporary_bytes) +
              "). The actual usage might be slightly larger than the estimated number."};
}

std::string DescribeAdapters(const protocol::Plan& plan) {
  return "Requests may choose adapters of " + std::to_string(plan.lora_ranks) +
         " ranks in all; a rank takes " +
         Megabytes(plan.adapter_bytes / std::max<int64_t>(1, plan.lora_ranks)) + ".";
}

std::string DescribeTables(const protocol::Plan& plan) {
  return "Tables of " + Megabytes(plan.table_bytes) +
         " stay in the model's files and are not counted: a token reads single rows, and the "
         "system keeps of them what fits.";
}

std::string DescribePrefixRam(const protocol::Plan& plan) {
  return "Up to " + Megabytes(plan.prefix_cache_ram_bytes) +
         " of the host's memory keep what the prefix cache on the device has to drop.";
}

// How long a chat may be, and what would allow more.
std::string DescribeContext(const EngineOptions& options, const ModelInfo& model) {
  int longest = std::min(options.context_window_size, options.max_total_tokens);
  if (longest == 0) return "A chat has no limit: the model's window slides.";  // LengthLimit
  std::string text = "A chat may have " + std::to_string(longest) + " tokens";
  if (longest < model.context_window_size) {
    text += " of the model's " + std::to_string(model.context_window_size);
  }
  return text + "." + (options.longer_by.empty() ? "" : " " + options.longer_by);
}

void FillOptions(const EngineOptions& options, const ModelInfo& model, protocol::Plan* plan) {
  plan->max_num_sequence = options.max_sequences;
  plan->max_total_seq_length = options.max_total_tokens;
  plan->context_window_size = options.context_window_size;
  if (!options.longer_by.empty()) plan->context_limit = options.longer_by;
  plan->prefill_chunk_size = options.prefill_chunk_size;
  plan->kv_cache_bytes = PoolBytes(options, model) + NumStates(options, model) * model.state_bytes;
  plan->lora_ranks = AdapterSpec::kRanks * options.adapter_groups;
  plan->adapter_bytes = AdapterBytes(options, model);
  plan->temporary_bytes = TemporaryBytes(options, model);
  plan->prefix_cache_ram_bytes = options.prefix_places.memory_bytes;
  plan->total_bytes =
      plan->parameter_bytes + plan->kv_cache_bytes + plan->adapter_bytes + plan->temporary_bytes;
}

}  // namespace

Result<protocol::Plan> PlanMemory(const protocol::EngineConfig& config,
                                  const PlanSubject& subject) {
  const ModelInfo& model = subject.model;
  protocol::Plan plan;
  plan.model = subject.name;
  plan.model_type = model.model_type;
  plan.quantization = model.quantization;
  plan.device = subject.device;
  plan.mode = wire::ToWord(config.mode.value_or(protocol::EngineMode::kLocal));
  int64_t limit = config.memory_limit_bytes.value_or(subject.available_bytes);
  plan.available_bytes = std::min(subject.available_bytes, limit);
  plan.parameter_bytes = model.weight_bytes;
  plan.table_bytes = model.table_bytes;
  plan.kv_cache_dtype = model.kv_cache_dtype;
  plan.kv_bytes_per_token = model.page_bytes / model.page_size;
  plan.input_modalities = {protocol::InputModality::kText};
  if (subject.takes_pictures) plan.input_modalities.push_back(protocol::InputModality::kImage);
  Result<EngineOptions> options = ResolveEngineOptions(config, model, subject.available_bytes);
  plan.fits = options.ok();
  if (!plan.fits) {
    if (options.status().code() != StatusCode::kResourceExhausted) return options.status();
    plan.reason = options.status().message();
    protocol::EngineConfig unlimited = config;  // to compute what it would need without a limit
    unlimited.memory_limit_bytes.reset();
    unlimited.kv_cache_bytes.reset();
    unlimited.lora_bytes.reset();
    options = ResolveEngineOptions(unlimited, model, kUnlimited);
    if (!options.ok()) return options.status();
  }
  FillOptions(*options, model, &plan);
  plan.summary = Summarize(plan);
  if (plan.lora_ranks > 0) plan.summary.push_back(DescribeAdapters(plan));
  if (plan.table_bytes > 0) plan.summary.push_back(DescribeTables(plan));
  if (plan.prefix_cache_ram_bytes > 0) plan.summary.push_back(DescribePrefixRam(plan));
  if (!model.is_encoder) plan.summary.push_back(DescribeContext(*options, model));
  return plan;
}

}  // namespace mlc
