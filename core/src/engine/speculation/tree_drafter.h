// Drafting from logits, whatever makes them: a model with pages of its own (model_drafter.h), or
// heads on the target's hidden states (medusa.h).
//
// A draft is sampled as the target will sample: with the same penalties, the same grammar and, most
// important, the same random number. So the two models choose the same token wherever their
// distributions agree. A tree contains this chain of drafts and, at each depth, the likeliest other
// paths.
#pragma once

#include <memory>
#include <vector>

#include "engine/commit.h"
#include "engine/speculation/draft_policy.h"
#include "engine/speculation/drafter.h"
#include "model/model.h"

namespace mlc {

class TreeDrafter : public Drafter {
 public:
  Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) final;
  int64_t DropWeights() final { return model_->DropWeights(); }
  int64_t TouchWeights() final { return model_->TouchWeights(); }
  double seconds_per_draft(int num_tasks) const final { return seconds_.Near(num_tasks); }

 protected:
  struct Branch;  // what a drafter with pages keeps of a sequence
  // A leaf of the tree, where it can grow.
  struct Leaf {
    int draft;                      // a draft of the run, or Drafts::kKnown
    SequenceId id;                  // of a drafter with pages: see Branch
    double score = 0;               // log probability of the path in the draft model
    const float* logits = nullptr;  // the logits that follow the leaf; null: not computed
    const float* state = nullptr;   // if rows take states: the one that the leaf's row gave
  };
  // A task that is being drafted.
  struct Run {
    DraftTask task;
    Branch* branch = nullptr;
    Drafts drafts = {};  // added one depth after the other
    std::vector<Leaf> leaves = {};
    size_t num_known = 0;          // tokens of the branch before the drafts
    const float* heads = nullptr;  // Medusa: the logits of all heads
  };

  // kInvalidArgument unless the model knows all tokens of the tokenizer.
  static Status CheckVocabulary(const ModelInfo& info, int vocab_size);
  // `vocab_size` is the tokenizer's.
  TreeDrafter(std::unique_ptr<Model> model, int vocab_size)
      : model_(std::move(model)), logit_rows_{model_->info().vocab_size, vocab_size} {}

  // The runs of all tasks. One that gets no leaf gets no drafts.
  virtual std::vector<Run> Begin(const std::vector<DraftTask>& tasks) = 0;
  // Whether the time of these runs tells what a draft usually costs.
  virtual bool IsUsual(const std::vector<Run>&) const { return true; }
  // Makes the first leaf of runs, with the logits behind the known tokens.
  virtual Status Start(std::vector<Run>* runs) = 0;
  // Gives logits to the leaves that want more drafts, as far as possible.
  virtual Status Continue(std::vector<Run>* runs) = 0;
  virtual void End(std::vector<Run>*) {}

  // Whether the leaf may get further drafts.
  static bool WantsMore(const Run& run, const Leaf& leaf);
  Model* model() const { return model_.get(); }
  const ModelInfo& info() const { return model_->info(); }
  const LogitRows& logit_rows() const { return logit_rows_; }

 private:
  static bool HasLogits(const Run& run);
  // Samples the drafts that follow the leaves with logits. These drafts become the new leaves.
  void Sample(Run* run);

  std::unique_ptr<Model> model_;
  LogitRows logit_rows_;
  StepTimes seconds_;  // as seconds_per_draft, by number of tasks
  SamplerScratch scratch_;
};

}  // namespace mlc
