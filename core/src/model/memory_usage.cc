#include "model/memory_usage.h"

#include <utility>

namespace mlc {
namespace {

constexpr int64_t kMaxRowBytes = int64_t{1} << 32;

// Bytes of a function's temporaries: fixed, for each row, for each row of logits, for each row of
// hidden states, and for each row and group of ranks that changes it.
struct StepMemory {
  int64_t fixed = 0, row = 0, logit_row = 0, hidden_row = 0, unit = 0;
};

Result<StepMemory> ReadStepMemory(const Json& usage, std::string_view function) {
  StepMemory memory;
  const Json* step = usage.Find(function);
  if (step == nullptr) return memory;
  for (auto [key, bytes] : {std::pair("fixed", &memory.fixed),
                            {"n", &memory.row},
                            {"m", &memory.logit_row},
                            {"h", &memory.hidden_row},
                            {"u", &memory.unit}}) {
    MLC_ASSIGN_OR_RETURN(*bytes, GetIntOr(*step, key, 0));
    if (*bytes < 0 || *bytes > kMaxRowBytes) {
      return InvalidArgument("field 'memory_usage' is out of bounds").WithParam("memory_usage");
    }
  }
  return memory;
}

}  // namespace

Status ReadMemoryUsage(const Json& metadata, ModelInfo* info) {
  const Json* usage = metadata.Find("memory_usage");
  if (usage == nullptr) return Status();
  MLC_ASSIGN_OR_RETURN(StepMemory step, ReadStepMemory(*usage, "batch_prefill"));
  MLC_ASSIGN_OR_RETURN(StepMemory head, ReadStepMemory(*usage, "get_logits"));
  MLC_ASSIGN_OR_RETURN(StepMemory fuse, ReadStepMemory(*usage, "fuse_states"));
  MLC_ASSIGN_OR_RETURN(StepMemory decode, ReadStepMemory(*usage, "batch_decode_tokens"));
  info->step_bytes = step.fixed + head.fixed + fuse.fixed + decode.fixed;
  info->row_bytes = step.row + fuse.logit_row;
  info->unit_bytes = step.unit;
  info->logit_row_bytes = step.logit_row + head.logit_row + step.hidden_row;
  info->decode_row_bytes = decode.row + decode.logit_row;
  return Status();
}

}  // namespace mlc
