#include "engine/speculation/draft_model.h"

#include <utility>

namespace mlc {

Result<std::unique_ptr<DraftModel>> DraftModel::Create(std::unique_ptr<Model> model, int vocab_size,
                                                       int max_total_tokens) {
  MLC_RETURN_IF_ERROR(Check(model->info(), vocab_size));
  MLC_ASSIGN_OR_RETURN(int num_pages, AllocatePages(model.get(), max_total_tokens));
  if (model->info().adapters != nullptr) {  // its library takes some, and its rows have none
    MLC_RETURN_IF_ERROR(model->AllocateAdapters(0));
  }
  return std::unique_ptr<DraftModel>(new DraftModel(std::move(model), vocab_size, num_pages));
}

// The last token is always computed again, to get logits.
ModelDrafter::Branch* DraftModel::BranchOf(const Sequence& sequence) {
  size_t most = sequence.tokens().size();
  Branch* branch = FindBranch(sequence.id);
  if (branch == nullptr) branch = NewBranch(sequence, most);
  Trim(branch, sequence, most - 1);
  return branch;
}

int DraftModel::Missing(const Run& run) const {
  return run.task.sequence->num_tokens() - static_cast<int>(run.branch->tokens.size());
}

}  // namespace mlc
