// Drafting by a layer that reads the target's states: the MTP layer of the target's own checkpoint,
// or Eagle's. A row of it is the target's state at a position and the next token; it guesses the
// token behind that one. The guesses after the first are made of the layer's own states.
//
// The target's states wait until drafts are asked for, because they cost nothing until then. So
// when drafts do not pay, the layer is not computed at all. There is room for the last kMostWaiting
// of a sequence: of a longer prompt, or where a prefix comes from the target's cache and no other
// sequence has the layer's rows of it, the layer sees the text from a later position on. That can
// cost accepted drafts, never the text.
#pragma once

#include <memory>
#include <vector>

#include "engine/speculation/model_drafter.h"

namespace mlc {

constexpr char kMtp[] = "mtp", kEagle[] = "eagle";  // ModelInfo::draft_kind

class LayerDrafter : public ModelDrafter {
 public:
  static constexpr int kMostWaiting = 1024;       // states of a sequence
  static constexpr int kMostWaitingInAll = 4096;  // of all sequences

  // As DraftModel::Create. `model`: the layer.
  static Result<std::unique_ptr<LayerDrafter>> Create(std::unique_ptr<Model> model, int vocab_size,
                                                      int max_total_tokens);

  bool CanDraft(const Sequence& sequence) const override {
    return ModelDrafter::CanDraft(sequence) && WholeBranch(sequence) != nullptr;
  }
  bool reads_states() const override { return true; }
  bool reads_chosen_layers() const override { return info().num_chosen_layers > 0; }
  void TakeStates(const Sequence& sequence, int first, int count, const float* states) override;

 protected:
  Branch* BranchOf(const Sequence& sequence) override { return WholeBranch(sequence); }
  int Missing(const Run& run) const override { return NumWaiting(*run.branch); }
  void AddStates(const Branch& branch, int num_rows, Batch* batch) const override;
  void Computed(Branch* branch, int num_rows) override;

 private:
  using ModelDrafter::ModelDrafter;
  int state_size() const { return info().state_size(); }
  int NumWaiting(const Branch& branch) const {
    return static_cast<int>(branch.waiting.size()) / state_size();
  }
  // The position of the row behind the computed and the waiting ones.
  int NextRow(const Branch& branch) const {
    return static_cast<int>(branch.tokens.size()) - 1 + NumWaiting(branch);
  }
  // The branch that has the states of all tokens but the last one; null: there is none.
  Branch* WholeBranch(const Sequence& sequence) const;
  // The branch will begin with the row at `position`.
  void Restart(Branch* branch, const Sequence& sequence, int position);
  // Keeps to the limits. `branch` stays.
  void LimitWaiting(Branch* branch, const Sequence& sequence);
};

}  // namespace mlc
