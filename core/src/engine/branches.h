// Branches of drafts in the KV cache. A step that verifies a token tree needs no special kernel.
// Each branch (engine/drafts.h) except the first is a sequence of its own. It shares the pages
// before it, and it has its own copy of the page in which it leaves its parent. So every row walks
// a plain history, with the same steps and the same bits as without drafts. The commit accepts a
// branch by keeping the branch's block table.
//
//   AddBranches(item, first_row, &cache, &batch);                        // before the step runs
//   KeepBranch(sequence, item.drafts, commit.last_accepted, &cache);     // after the step
#pragma once

#include "engine/step.h"

namespace mlc {

// Adds the rows of all branches except the first. `batch` already has the rows of known tokens and
// of the first branch, from `first_row` on. When a branch has its own copy of a page that it shares
// in part, the step copies that part (Batch::copy_source). Returns kResourceExhausted when there
// are too few pages.
Status AddBranches(const StepItem& item, int first_row, KVCache* cache, Batch* batch);

// The number of pages that the branch beginning at `draft` takes.
int PagesOfBranch(const StepItem& item, int draft, int page_size);

// Continues the sequence as the branch that `draft` is on, and removes the other branches. The
// cache may still hold rows of that branch behind `draft`. For Drafts::kKnown the first branch is
// kept.
void KeepBranch(SequenceId sequence, const Drafts& drafts, int draft, KVCache* cache);

// Removes all branches except the first. Ignores branches that do not exist.
void RemoveBranches(SequenceId sequence, const Drafts& drafts, KVCache* cache);

}  // namespace mlc
