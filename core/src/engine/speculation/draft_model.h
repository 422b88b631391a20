// Drafting by a smaller model of the same vocabulary, with keys and values of its own.
//
// A draft is sampled as the target will sample: with the same penalties, grammar and, above all,
// the same random number. So the two agree wherever their distributions do. A tree holds that chain
// of drafts and, at each depth, the likeliest other paths.
//
// What was computed for a sequence is kept until its room is wanted, longest unused first. A
// sequence that begins like another, as choices of a request and turns of a chat do, begins with
// what was computed for that.
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
  // Allocates pages for `max_total_tokens`. `vocab_size`: of the tokenizer; the model must know all
  // of it.
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
  // The computed tokens of a sequence; as many are in the cache.
  struct Branch {
    SequenceId id;  // in the cache, and of the target's sequence
    std::vector<int32_t> tokens;
    int64_t last_used;
  };
  // An end at which a tree grows.
  struct Leaf {
    int draft;                      // of the run's, or Drafts::kKnown
    SequenceId id;                  // in the cache: what leads to it, once it has logits itself too
    double score = 0;               // logarithm of the chance that the model gives the path
    const float* logits = nullptr;  // behind it; null: not computed
  };
  // A task on its way.
  struct Run {
    DraftTask task;
    Branch* branch;
    Drafts drafts = {};  // one depth after the other
    std::vector<Leaf> leaves = {};
  };

  DraftModel(std::unique_ptr<Model> model, int vocab_size, int num_pages);
  std::vector<Run> Begin(const std::vector<DraftTask>& tasks);
  bool CanDraft(const DraftTask& task) const;
  Branch* BranchOf(const Sequence& sequence);
  Branch* NewBranch(const Sequence& sequence);
  bool MakeRoom(SequenceId id, int num_tokens);
  void Forget(size_t branch);
  // Tokens that the target has and the branch has not.
  static int Missing(const Run& run);
  static bool HasLogits(const Run& run);
  static bool WantsMore(const Run& run, const Leaf& leaf);
  // Computes tokens that the target has and the branches have not, as many as one batch takes.
  Status CatchUp(std::vector<Run>* runs);
  // Samples the drafts that follow the leaves with logits; these become the leaves.
  void Sample(Run* run);
  // Computes the leaves that others may follow.
  Status Continue(std::vector<Run>* runs);
  // Adds the row of a leaf, which gets a sequence of the cache of its own where it shares one with
  // an earlier leaf. False when there is no room.
  Result<bool> AddLeaf(Run* run, size_t leaf, Batch* batch);
  // `leaves` get the rows of logits, in order.
  Status Compute(const Batch& batch, const std::vector<Leaf*>& leaves);
  void RemoveForks();

  std::unique_ptr<Model> model_;
  LogitRows logit_rows_;
  KVCache cache_;
  std::vector<std::unique_ptr<Branch>> branches_;
  std::vector<SequenceId> forks_;  // of branches, in the cache while a tree grows; below zero
  int64_t now_ = 0;                // calls of Draft
  StepTimes seconds_per_token_;    // by tasks
  SamplerScratch scratch_;
};

}  // namespace mlc

#endif  // MLC_ENGINE_SPECULATION_DRAFT_MODEL_H_
