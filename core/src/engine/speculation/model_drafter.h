// Drafting by a model with pages of its own: what a smaller model (draft_model.h) and a layer on
// the target's hidden states (layer_drafter.h) share.
//
// The computed rows of a sequence are kept until their pages are needed; those that were unused for
// the longest time are removed first. Some sequences begin alike, for example choices of one
// request or turns of a chat. Then the later one reuses the rows of the earlier one.
#pragma once

#include <memory>
#include <vector>

#include "engine/speculation/tree_drafter.h"
#include "engine/step.h"
#include "kv/kv_cache.h"

namespace mlc {

// The computed rows of a sequence.
struct TreeDrafter::Branch {
  SequenceId id;  // the same in the cache and for the target's sequence
  // The sequence's tokens up to that of the last row. The first `skipped` have no row.
  std::vector<int32_t> tokens;
  int64_t last_used;
  int skipped = 0;
  // If rows take states: the target's of the rows that come next, not computed yet.
  std::vector<float> waiting = {};
};

// A leaf's `id` is that of the path to the leaf in the cache, and the leaf itself when it has
// logits.
class ModelDrafter : public TreeDrafter {
 public:
  void Clear() override;
  // A prompt may contain tokens that the draft model does not know, because the target's vocabulary
  // may have more padding. It may also contain embedding rows, which only the target knows.
  bool CanDraft(const Sequence& sequence) const override;

  int num_free_pages() const { return cache_.num_free_pages(); }
  int num_pages() const { return cache_.num_pages(); }
  size_t num_branches() const { return branches_.size(); }

 protected:
  // Allocates pages for `max_total_tokens`. `vocab_size` is the tokenizer's; the model must know
  // all of these tokens.
  static Status Check(const ModelInfo& info, int vocab_size);
  static Result<int> AllocatePages(Model* model, int max_total_tokens);
  ModelDrafter(std::unique_ptr<Model> model, int vocab_size, int num_pages);

  // The branch of a sequence, without drafts that were refused; null when nothing can be drafted.
  virtual Branch* BranchOf(const Sequence& sequence) = 0;
  // How many rows must be computed before the first draft.
  virtual int Missing(const Run& run) const = 0;
  // The target's states for the first `num_rows` of them; they are valid until the end of the step.
  virtual void AddStates(const Branch&, int num_rows, Batch*) const { (void)num_rows; }
  // Called when the first `num_rows` of them were computed.
  virtual void Computed(Branch*, int num_rows) { (void)num_rows; }

  Branch* FindBranch(SequenceId id) const;
  // A new one, which shares the rows of the branch with the longest common beginning, but none
  // behind `max_tokens`.
  Branch* NewBranch(const Sequence& sequence, size_t max_tokens);
  // Removes what is not the beginning of `sequence`, and rows behind the first `max_tokens`.
  void Trim(Branch* branch, const Sequence& sequence, size_t max_tokens);
  void Forget(const Branch* branch);
  // Notes that it is used now. It is among the last ones that are removed.
  void Use(Branch* branch);
  const std::vector<std::unique_ptr<Branch>>& branches() const { return branches_; }

 private:
  std::vector<Run> Begin(const std::vector<DraftTask>& tasks) override;
  bool IsUsual(const std::vector<Run>& runs) const override;
  // Computes the rows that the branches do not have yet, as many as one batch takes.
  Status Start(std::vector<Run>* runs) override;
  Status Continue(std::vector<Run>* runs) override;
  void End(std::vector<Run>* runs) override;
  void LimitBranches();
  bool MakeRoom(SequenceId id, int num_tokens);
  // Adds the row of a leaf. If an earlier leaf uses the same sequence of the cache, this leaf gets
  // a sequence of its own. Returns false when there is no room.
  Result<bool> AddLeaf(Run* run, size_t leaf, Batch* batch);
  // Makes the states that rows take of those of the target, if these are of chosen layers.
  Status FuseStates(Batch* batch);
  // Computes the batch. `leaves` get its rows of logits and hidden states, in order.
  Status Compute(const Batch& batch, const std::vector<Leaf*>& leaves);

  KVCache cache_;
  std::vector<std::unique_ptr<Branch>> branches_;
  // ids (below zero) of the sequences that exist in the cache while a tree grows
  std::vector<SequenceId> forks_;
  int64_t now_ = 0;           // number of calls of Draft and Use
  std::vector<float> fused_;  // the states of FuseStates
};

}  // namespace mlc
