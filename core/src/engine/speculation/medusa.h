// Drafting by Medusa's heads (arXiv 2401.10774). Head k reads the target's hidden state behind a
// token and guesses the token k + 2 places later: the one at place 1 is known already. The heads
// have no pages, and one call makes the logits of all of them.
#pragma once

#include <memory>
#include <vector>

#include "engine/speculation/last_states.h"
#include "engine/speculation/tree_drafter.h"

namespace mlc {

constexpr char kMedusa[] = "medusa";  // ModelInfo::draft_kind

class MedusaDrafter : public TreeDrafter {
 public:
  // `heads`: a model with a head alone (Model::RunHead). `vocab_size` is the tokenizer's.
  static Result<std::unique_ptr<MedusaDrafter>> Create(std::unique_ptr<Model> heads,
                                                       int vocab_size);

  bool reads_states() const override { return true; }
  bool drafts_at_once() const override { return true; }
  bool CanDraft(const Sequence& sequence) const override { return last_.Find(sequence) != nullptr; }
  void TakeStates(const Sequence& sequence, int first, int count, const float* states) override {
    last_.Take(sequence.id, first, count, states, info().hidden_size);
  }
  void Clear() override { last_.Clear(); }
  size_t num_states() const { return last_.size(); }

 protected:
  std::vector<Run> Begin(const std::vector<DraftTask>& tasks) override;
  Status Start(std::vector<Run>* runs) override;
  Status Continue(std::vector<Run>* runs) override;

 private:
  using TreeDrafter::TreeDrafter;

  LastStates last_;
};

}  // namespace mlc
