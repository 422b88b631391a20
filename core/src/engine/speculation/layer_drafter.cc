#include "engine/speculation/layer_drafter.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace mlc {

Result<std::unique_ptr<LayerDrafter>> LayerDrafter::Create(std::unique_ptr<Model> model,
                                                           int vocab_size, int max_total_tokens) {
  MLC_RETURN_IF_ERROR(Check(model->info(), vocab_size));
  MLC_ASSIGN_OR_RETURN(int num_pages, AllocatePages(model.get(), max_total_tokens));
  return std::unique_ptr<LayerDrafter>(new LayerDrafter(std::move(model), vocab_size, num_pages));
}

void LayerDrafter::Restart(Branch* branch, const Sequence& sequence, int position) {
  Trim(branch, sequence, 0);
  auto begin = sequence.tokens().begin();
  branch->tokens.assign(begin, begin + position + 1);
  branch->skipped = position + 1;
  branch->waiting.clear();
}

void LayerDrafter::LimitWaiting(Branch* branch, const Sequence& sequence) {
  if (NumWaiting(*branch) > kMostWaiting) {
    auto keep = static_cast<std::ptrdiff_t>(kMostWaiting) * state_size();
    std::vector<float> last(branch->waiting.end() - keep, branch->waiting.end());
    Restart(branch, sequence, NextRow(*branch) - kMostWaiting);
    branch->waiting = std::move(last);
  }
  auto in_all = [this] {
    int sum = 0;
    for (const auto& one : branches()) sum += NumWaiting(*one);
    return sum;
  };
  while (in_all() > kMostWaitingInAll) {
    const Branch* oldest = nullptr;
    for (const auto& one : branches()) {
      bool is_other = one.get() != branch && !one->waiting.empty();
      bool is_older = oldest == nullptr || one->last_used < oldest->last_used;
      if (is_other && is_older) oldest = one.get();
    }
    Forget(oldest);
  }
}

void LayerDrafter::TakeStates(const Sequence& sequence, int first, int count, const float* states) {
  Branch* branch = FindBranch(sequence.id);
  if (branch == nullptr) {
    branch = NewBranch(sequence, sequence.tokens().size());
  } else {
    size_t had = branch->tokens.size();
    Trim(branch, sequence, had);
    if (branch->tokens.size() < had) branch->waiting.clear();
  }
  Use(branch);
  int next = NextRow(*branch);
  if (branch->tokens.empty() || first > next + 1) Restart(branch, sequence, first), next = first;
  auto size = static_cast<size_t>(state_size());
  // A prefix of the target's cache ends between a state and its next token: the state is gone.
  if (first > next) branch->waiting.insert(branch->waiting.end(), size, 0.0f), ++next;
  int end = std::min(first + count, sequence.num_tokens() - 1);  // the next token must be known
  if (end <= next) return;
  branch->waiting.insert(branch->waiting.end(), states + static_cast<size_t>(next - first) * size,
                         states + static_cast<size_t>(end - first) * size);
  LimitWaiting(branch, sequence);
}

ModelDrafter::Branch* LayerDrafter::WholeBranch(const Sequence& sequence) const {
  Branch* branch = FindBranch(sequence.id);
  bool is_whole = branch != nullptr && !branch->waiting.empty() &&
                  NextRow(*branch) == sequence.num_tokens() - 1;
  return is_whole ? branch : nullptr;
}

void LayerDrafter::AddStates(const Branch& branch, int num_rows, Batch* batch) const {
  for (int row = 0; row < num_rows; ++row) {
    batch->target_states.push_back(branch.waiting.data() +
                                   static_cast<ptrdiff_t>(row) * state_size());
  }
}

void LayerDrafter::Computed(Branch* branch, int num_rows) {
  auto begin = branch->waiting.begin();
  branch->waiting.erase(begin, begin + static_cast<ptrdiff_t>(num_rows) * state_size());
}

}  // namespace mlc
