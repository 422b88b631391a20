// Turns a plan into the rows of a batch, and runs it.
#pragma once

#include <vector>

#include "engine/drafts.h"
#include "engine/scheduler.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace mlc {

// One item of a step and its sequence. First come the rows of known tokens, then the rows of
// drafts. The commit may accept a path of the drafts.
struct StepItem {
  std::shared_ptr<Sequence> sequence;
  int num_rows;
  bool wants_logits;   // after the last known row, and after each draft
  Drafts drafts = {};  // empty unless wants_logits
  // How many of its first rows are scored: their logits give the probability of the prompt's next
  // token. With wants_logits these are all rows before the last one; otherwise all rows.
  int num_scored = 0;
  bool wants_states = false;  // the hidden states of all its rows

  size_t num_logit_rows() const {
    return static_cast<size_t>(num_scored) +
           (wants_logits ? 1 + static_cast<size_t>(drafts.size()) : 0);
  }
};

// The rows of one sequence: tokens that follow the tokens in the cache.
struct RowSpan {
  SequenceId sequence;
  std::vector<int32_t> tokens;
  int num_logit_rows = 0;          // the last rows
  int num_hidden_rows = 0;         // the last rows
  const Prompt* prompt = nullptr;  // the sequence begins with it; null: it has tokens only
  const std::vector<int32_t>* types = nullptr;  // of the prompt's rows; null: all have type 0
  int num_drafts = 0;  // how many of the last rows are drafts, which may be removed again
  // keep the recurrent state behind these lengths, for other sequences
  std::vector<int> kept_lengths = {};
};

// Takes the pages that `span` needs and adds its rows to `batch`. Returns kResourceExhausted, and
// changes nothing, when there are too few pages.
Status AddRows(const RowSpan& span, KVCache* cache, Batch* batch);

// Puts sequences that go on with one token and have the same adapters, or begin with the same
// pages, side by side: CPU kernels read these weights, or pages, once for neighbouring rows.
// Otherwise the order stays.
void GatherSharers(const KVCache& cache, std::vector<StepItem>* items);

// The rows of all items, in order. It also adds the branches of their drafts to the cache
// (branches.h). Returns kResourceExhausted when the plan does not fit the cache.
Result<Batch> BuildBatch(const std::vector<StepItem>& items, KVCache* cache);

// Copies the pages that others read too and that sequences are going to write to.
Status CopyPending(KVCache* cache, Model* model);

// Does that first, then computes the batch.
Result<Outputs> RunBatch(const Batch& batch, KVCache* cache, Model* model);

}  // namespace mlc
