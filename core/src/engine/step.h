// The tensors' side of a step: a plan becomes the rows of a batch.
#ifndef MLC_ENGINE_STEP_H_
#define MLC_ENGINE_STEP_H_

#include <vector>

#include "engine/scheduler.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace mlc {

// One item of a step with the sequence it is for: rows of tokens that it has, then of drafts, of
// which the commit may accept the first few.
struct StepItem {
  std::shared_ptr<Sequence> sequence;
  int num_rows;
  bool wants_logits;                 // after the last known row and each draft
  std::vector<int32_t> drafts = {};  // only with wants_logits
};

// Takes the pages that `items` need, drafts included, and lays out their rows, in order.
// kResourceExhausted when pages are short: the plan did not fit the cache.
Result<Batch> BuildBatch(const std::vector<StepItem>& items, KVCache* cache);

}  // namespace mlc

#endif  // MLC_ENGINE_STEP_H_
