// Drafting by a smaller model with the same vocabulary. It has its own KV cache.
//
// A draft is sampled as the target will sample: with the same penalties, the same grammar and, most
// important, the same random number. So the two models choose the same token wherever their
// distributions agree. A tree contains this chain of drafts and, at each depth, the likeliest other
// paths.
//
// The computed state of a sequence is kept until its pages are needed; the state that was unused
// for the longest time is removed first. Some sequences begin alike, for example choices of one
// request or turns of a chat. Then the later one reuses the state of the earlier one.
#ifndef MLC_ENGINE_SPECULATION_DRAFT_MODEL_H_
#define MLC_ENGINE_SPECULATION_DRAFT_MODEL_H_

#include <memory>
#include <vector>

#include "engine/commit.h"
#include "engine/speculation/draft_policy.h"
#include "engine/speculation/drafter.h"
#include "engine/step.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace mlc {

class DraftModel : public Drafter {
 public:
  // Allocates pages for `max_total_tokens`. `vocab_size` is the tokenizer's; the draft model must
  // know all of these tokens.
  static Result<std::unique_ptr<DraftModel>> Create(std::unique_ptr<Model> model, int vocab_size,
                                                    int max_total_tokens);

  bool is_free() const override { return false; }
  Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) override;
  void Clear() override;
  double seconds_per_draft(int num_tasks) const override {
    return seconds_per_token_.Measured(num_tasks).value_or(0);
  }

  int num_free_pages() const { return cache_.num_free_pages(); }
  int num_pages() const { return cache_.num_pages(); }

 private:
  // The computed tokens of a sequence. The cache holds the same number of tokens.
  struct Branch {
    SequenceId id;  // the same in the cache and for the target's sequence
    std::vector<int32_t> tokens;
    int64_t last_used;
  };
  // A leaf of the tree, where it can grow.
  struct Leaf {
    int draft;         // a draft of the run, or Drafts::kKnown
    SequenceId id;     // in the cache: the path to the leaf, and the leaf itself when it has logits
    double score = 0;  // log probability of the path in the draft model
    const float* logits = nullptr;  // the logits that follow the leaf; null: not computed
  };
  // A task that is being drafted.
  struct Run {
    DraftTask task;
    Branch* branch;
    Drafts drafts = {};  // added one depth after the other
    std::vector<Leaf> leaves = {};
  };

  DraftModel(std::unique_ptr<Model> model, int vocab_size, int num_pages);
  std::vector<Run> Begin(const std::vector<DraftTask>& tasks);
  bool CanDraft(const DraftTask& task) const;
  Branch* BranchOf(const Sequence& sequence);
  Branch* NewBranch(const Sequence& sequence);
  bool MakeRoom(SequenceId id, int num_tokens);
  void Forget(size_t branch);
  // How many tokens of the target the branch does not have yet.
  static int Missing(const Run& run);
  static bool HasLogits(const Run& run);
  static bool WantsMore(const Run& run, const Leaf& leaf);
  // Computes the tokens that the branches do not have yet, as many as one batch takes.
  Status CatchUp(std::vector<Run>* runs);
  // Samples the drafts that follow the leaves with logits. These drafts become the new leaves.
  void Sample(Run* run);
  // Computes the leaves that may get further drafts.
  Status Continue(std::vector<Run>* runs);
  // Adds the row of a leaf. If an earlier leaf uses the same sequence of the cache, this leaf gets
  // a sequence of its own. Returns false when there is no room.
  Result<bool> AddLeaf(Run* run, size_t leaf, Batch* batch);
  // Computes the batch. `leaves` get its rows of logits, in order.
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

#endif  // MLC_ENGINE_SPECULATION_DRAFT_MODEL_H_
