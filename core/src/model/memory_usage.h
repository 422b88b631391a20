// The memory of steps, as a library's metadata tells it.
#pragma once

#include "base/json.h"
#include "base/status.h"
#include "model/model.h"

namespace mlc {

// "memory_usage": {"batch_prefill": {"fixed": ..., "n": ..., "m": ..., "h": ..., "u": ...},
// "get_logits":
// ..., "batch_decode_tokens": ...}. The others have the same fields; the last one is memory that is
// kept.
Status ReadMemoryUsage(const Json& metadata, ModelInfo* info);

}  // namespace mlc
