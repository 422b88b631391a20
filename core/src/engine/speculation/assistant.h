// Drafting by layers that read the target's own pages (Gemma 4's assistant). A row takes a token
// and a hidden state, attends to what the target's last computed row sees, and gives logits and the
// state for the next guess. It writes no keys and values, so there is nothing to take back, and
// every leaf of a tree is one row.
#pragma once

#include <memory>
#include <vector>

#include "engine/speculation/last_states.h"
#include "engine/speculation/tree_drafter.h"
#include "kv/kv_cache.h"

namespace mlc {

class AssistantDrafter : public TreeDrafter {
 public:
  // `model`: a part of the target's library with info().reads_target_pages. `vocab_size` is the
  // tokenizer's.
  static Result<std::unique_ptr<AssistantDrafter>> Create(std::unique_ptr<Model> model,
                                                          int vocab_size);

  bool reads_states() const override { return true; }
  bool reads_pages() const override { return true; }
  // A page that is still to be copied does not have its rows yet. A sequence that was preempted has
  // to compute its rows again.
  bool CanDraft(const Sequence& sequence) const override;
  void TakeStates(const Sequence& sequence, int first, int count, const float* states) override {
    last_.Take(sequence.id, first, count, states, info().hidden_size);
  }
  void SeeCache(const KVCache& cache) override { cache_ = &cache; }
  void Clear() override { last_.Clear(); }

 protected:
  std::vector<Run> Begin(const std::vector<DraftTask>& tasks) override;
  Status Start(std::vector<Run>* runs) override;
  Status Continue(std::vector<Run>* runs) override;

 private:
  using TreeDrafter::TreeDrafter;
  // Adds the row of a leaf behind `token`, with the pages of the sequence.
  void AddRow(const Run& run, int32_t token, Leaf* leaf);
  // Computes the rows that were added. Their leaves get logits and states.
  Status Compute();

  LastStates last_;
  const KVCache* cache_ = nullptr;  // the target's
  Batch batch_;
  std::vector<Leaf*> leaves_;  // of its rows
};

}  // namespace mlc
