// The tensors' side of a step: a plan becomes the rows of a batch.
#ifndef MLC_ENGINE_STEP_H_
#define MLC_ENGINE_STEP_H_

#include <vector>

#include "engine/scheduler.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace mlc {

// One item of a step with the sequence it is for.
struct StepItem {
  std::shared_ptr<Sequence> sequence;
  int num_rows;
  bool wants_logits;
};

// Takes the pages that `items` need and lays out their rows, in order; the rows that want logits
// are the last rows of the items that do. kResourceExhausted when pages are short: the plan did not
// fit the cache.
Result<Batch> BuildBatch(const std::vector<StepItem>& items, KVCache* cache);

}  // namespace mlc

#endif  // MLC_ENGINE_STEP_H_
