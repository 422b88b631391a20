// The tensors' side of a step: a plan becomes the rows of a batch.
#ifndef MLC_ENGINE_STEP_H_
#define MLC_ENGINE_STEP_H_

#include <vector>

#include "engine/drafts.h"
#include "engine/scheduler.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace mlc {

// One item of a step with the sequence it is for: rows of tokens that it has, then of drafts, of
// which the commit may accept a path.
struct StepItem {
  std::shared_ptr<Sequence> sequence;
  int num_rows;
  bool wants_logits;   // after the last known row and each draft
  Drafts drafts = {};  // only with wants_logits
  // Its first rows, whose logits say how likely the prompt's next token was. With wants_logits
  // these are all rows before the last one, else all.
  int num_scored = 0;

  size_t num_logit_rows() const {
    return static_cast<size_t>(num_scored) +
           (wants_logits ? 1 + static_cast<size_t>(drafts.size()) : 0);
  }
};

// Rows of one sequence: tokens that follow what the cache has of it.
struct RowSpan {
  SequenceId sequence;
  std::vector<int32_t> tokens;
  int num_logit_rows = 0;              // the last ones
  int num_hidden_rows = 0;             // likewise
  const Prompt* prompt = nullptr;      // with which the sequence begins; null: tokens alone
  int num_drafts = 0;                  // of the rows, the last ones: they may be taken back
  std::vector<int> kept_lengths = {};  // behind which recurrent states are kept for others
};

// Takes the pages that `span` needs and adds its rows to `batch`. kResourceExhausted (and nothing
// changed) when pages are short.
Status AddRows(const RowSpan& span, KVCache* cache, Batch* batch);

// The rows of all items, in order; branches of their drafts are in the cache then (branches.h).
// kResourceExhausted when the plan did not fit the cache.
Result<Batch> BuildBatch(const std::vector<StepItem>& items, KVCache* cache);

// Copies the pages that the batch is about to write and others read too, then computes it.
Result<Outputs> RunBatch(const Batch& batch, KVCache* cache, Model* model);

}  // namespace mlc

#endif  // MLC_ENGINE_STEP_H_
