// Drafting by a model with pages of its own: what a smaller model (draft_model.h) and an MTP layer
// (mtp.h) share.
//
// A draft is sampled as the target will sample: with the same penalties, the same grammar and, most
// important, the same random number. So the two models choose the same token wherever their
// distributions agree. A tree contains this chain of drafts and, at each depth, the likeliest other
// paths.
//
// The computed rows of a sequence are kept until their pages are needed; those that were unused for
// the longest time are removed first. Some sequences begin alike, for example choices of one
// request or turns of a chat. Then the later one reuses the rows of the earlier one.
#ifndef MLC_ENGINE_SPECULATION_MODEL_DRAFTER_H_
#define MLC_ENGINE_SPECULATION_MODEL_DRAFTER_H_

#include <memory>
#include <vector>

#include "engine/commit.h"
#include "engine/speculation/draft_policy.h"
#include "engine/speculation/drafter.h"
#include "engine/step.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace mlc {

class ModelDrafter : public Drafter {
 public:
  bool is_free() const override { return false; }
  Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) override;
  void Clear() override;
  double seconds_per_draft(int num_tasks) const override {
    return seconds_per_token_.Measured(num_tasks).value_or(0);
  }

  int num_free_pages() const { return cache_.num_free_pages(); }
  int num_pages() const { return cache_.num_pages(); }

 protected:
  // The computed rows of a sequence.
  struct Branch {
    SequenceId id;  // the same in the cache and for the target's sequence
    // The sequence's tokens up to that of the last row. The first `skipped` have no row.
    std::vector<int32_t> tokens;
    int64_t last_used;
    int skipped = 0;
    // An MTP layer: the target's states of the rows that come next, not computed yet.
    std::vector<float> waiting = {};
  };
  // A leaf of the tree, where it can grow.
  struct Leaf {
    int draft;         // a draft of the run, or Drafts::kKnown
    SequenceId id;     // in the cache: the path to the leaf, and the leaf itself when it has logits
    double score = 0;  // log probability of the path in the draft model
    const float* logits = nullptr;  // the logits that follow the leaf; null: not computed
    const float* state = nullptr;   // an MTP layer: the hidden state of the leaf's row
  };
  // A task that is being drafted.
  struct Run {
    DraftTask task;
    Branch* branch;
    Drafts drafts = {};  // added one depth after the other
    std::vector<Leaf> leaves = {};
    size_t num_known = 0;  // tokens of the branch before the drafts
  };

  // Allocates pages for `max_total_tokens`. `vocab_size` is the tokenizer's; the model must know
  // all of these tokens.
  static Status Check(const ModelInfo& info, int vocab_size);
  static Result<int> AllocatePages(Model* model, int max_total_tokens);
  ModelDrafter(std::unique_ptr<Model> model, int vocab_size, int num_pages);

  // The branch of a sequence, without drafts that were refused; null when nothing can be drafted.
  virtual Branch* BranchOf(const Sequence& sequence) = 0;
  // How many rows must be computed before the first draft.
  virtual int Missing(const Run& run) const = 0;
  // The inputs of the first `num_rows` of them, besides the tokens; they are valid until the end of
  // the step.
  virtual void AddStates(const Branch&, int num_rows, Batch*) const { (void)num_rows; }
  // Called when the first `num_rows` of them were computed.
  virtual void Computed(Branch*, int num_rows) { (void)num_rows; }

  const Model& model() const { return *model_; }
  Branch* FindBranch(SequenceId id);
  // A new one, which shares the rows of the branch with the longest common beginning, but none
  // behind `max_tokens`.
  Branch* NewBranch(const Sequence& sequence, size_t max_tokens);
  // Removes what is not the beginning of `sequence`, and rows behind the first `max_tokens`.
  void Trim(Branch* branch, const Sequence& sequence, size_t max_tokens);
  void Forget(const Branch* branch);
  const std::vector<std::unique_ptr<Branch>>& branches() const { return branches_; }

 private:
  std::vector<Run> Begin(const std::vector<DraftTask>& tasks);
  bool CanDraft(const DraftTask& task) const;
  bool MakeRoom(SequenceId id, int num_tokens);
  static bool HasLogits(const Run& run);
  static bool WantsMore(const Run& run, const Leaf& leaf);
  // Computes the rows that the branches do not have yet, as many as one batch takes.
  Status CatchUp(std::vector<Run>* runs);
  // Samples the drafts that follow the leaves with logits. These drafts become the new leaves.
  void Sample(Run* run);
  // Computes the leaves that may get further drafts.
  Status Continue(std::vector<Run>* runs);
  // Adds the row of a leaf. If an earlier leaf uses the same sequence of the cache, this leaf gets
  // a sequence of its own. Returns false when there is no room.
  Result<bool> AddLeaf(Run* run, size_t leaf, Batch* batch);
  // Computes the batch. `leaves` get its rows of logits and hidden states, in order.
  Status Compute(const Batch& batch, const std::vector<Leaf*>& leaves);
  void RemoveForks();

  std::unique_ptr<Model> model_;
  LogitRows logit_rows_;
  KVCache cache_;
  std::vector<std::unique_ptr<Branch>> branches_;
  // ids (below zero) of the sequences that exist in the cache while a tree grows
  std::vector<SequenceId> forks_;
  int64_t now_ = 0;              // number of calls of Draft
  StepTimes seconds_per_token_;  // by number of tasks
  SamplerScratch scratch_;
};

}  // namespace mlc

#endif  // MLC_ENGINE_SPECULATION_MODEL_DRAFTER_H_
