// Drafting by a smaller model with the same vocabulary, which computes the whole text too.
#pragma once

#include <memory>

#include "engine/speculation/model_drafter.h"

namespace mlc {

class DraftModel : public ModelDrafter {
 public:
  // Allocates pages for `max_total_tokens`. `vocab_size` is the tokenizer's; the draft model must
  // know all of these tokens.
  static Result<std::unique_ptr<DraftModel>> Create(std::unique_ptr<Model> model, int vocab_size,
                                                    int max_total_tokens);

 protected:
  Branch* BranchOf(const Sequence& sequence) override;
  int Missing(const Run& run) const override;

 private:
  using ModelDrafter::ModelDrafter;
};

}  // namespace mlc
