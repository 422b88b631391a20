#include "engine/branches.h"

#include <algorithm>

namespace mlc {
namespace {

// The id of a branch. It is negative, so it differs from every id of the engine. Branch 0 is the
// sequence itself.
SequenceId BranchId(SequenceId sequence, int branch) {
  constexpr SequenceId kMostBranches = 1 << 20;
  MLC_ICHECK(branch < kMostBranches);
  return branch == 0 ? sequence : -(sequence * kMostBranches + branch);
}

int NumKnown(const StepItem& item) { return item.sequence->num_computed + item.num_rows; }

// The position at which the branch leaves its parent.
int ForkOf(const StepItem& item, int draft) {
  return NumKnown(item) + item.drafts.depth(item.drafts.parent(draft));
}

// The branch has its own copy of the page that contains `fork`. Lists what the step must copy into
// it: the slots before `fork` that this step computes.
void AddCopies(const StepItem& item, int draft, int first_row, SequenceId branch,
               const KVCache& cache, Batch* batch) {
  int fork = ForkOf(item, draft), page_begin = fork / cache.page_size() * cache.page_size();
  int known = NumKnown(item), computed = item.sequence->num_computed;
  std::vector<int> path = item.drafts.Path(item.drafts.parent(draft));
  for (int position = std::max(computed, page_begin); position < fork; ++position) {
    int row = first_row + position - computed;
    if (position >= known) {
      row = first_row + item.num_rows + path[static_cast<size_t>(position - known)];
    }
    batch->copy_source.push_back(batch->slots[static_cast<size_t>(row)]);
    batch->copy_destination.push_back(cache.Slot(branch, position));
    if (cache.num_groups() == 1) continue;
    batch->windowed_copy_source.push_back(batch->windowed_slots[static_cast<size_t>(row)]);
    batch->windowed_copy_destination.push_back(cache.Slot(branch, position, 1));
  }
}

}  // namespace

Status AddBranches(const StepItem& item, int first_row, KVCache* cache, Batch* batch) {
  const Drafts& drafts = item.drafts;
  SequenceId sequence = item.sequence->id;
  for (int draft = drafts.FirstChain(), end; draft < drafts.size(); draft = end) {
    end = drafts.BranchEnd(draft);
    SequenceId branch = BranchId(sequence, drafts.BranchOf(draft));
    SequenceId parent = BranchId(sequence, drafts.BranchOf(drafts.parent(draft)));
    cache->Fork(parent, branch, ForkOf(item, draft));
    RowSpan span{branch, {drafts.tokens().begin() + draft, drafts.tokens().begin() + end}};
    span.num_logit_rows = end - draft;
    span.num_hidden_rows = item.wants_states ? end - draft : 0;
    span.prompt = &item.sequence->request->request.prompt;
    MLC_RETURN_IF_ERROR(AddRows(span, cache, batch));
    AddCopies(item, draft, first_row, branch, *cache, batch);
  }
  return Status();
}

int PagesOfBranch(const StepItem& item, int draft, int page_size) {
  int fork = ForkOf(item, draft), end = fork + item.drafts.BranchEnd(draft) - draft;
  return (end + page_size - 1) / page_size - fork / page_size;
}

void KeepBranch(SequenceId sequence, const Drafts& drafts, int draft, KVCache* cache) {
  int branch = drafts.BranchOf(draft);
  if (branch > 0) cache->Swap(sequence, BranchId(sequence, branch));
  RemoveBranches(sequence, drafts, cache);
}

void RemoveBranches(SequenceId sequence, const Drafts& drafts, KVCache* cache) {
  for (int branch = drafts.num_branches() - 1; branch > 0; --branch) {
    SequenceId id = BranchId(sequence, branch);
    if (cache->Has(id)) cache->Remove(id);
  }
}

}  // namespace mlc
