// Branches of drafts in the cache. A step that verifies a token tree needs no kernel that knows of
// trees: each branch (engine/drafts.h) but the first is a sequence of its own, which shares the
// pages before it and has a copy of the one in which it leaves the others. So every row walks a
// plain history, by the same steps and with the same bits as without drafts; and to accept a branch
// is to keep its table of pages.
//
//   AddBranches(item, first_row, &cache, &batch);                        // the step is laid out
//   KeepBranch(sequence, item.drafts, commit.last_accepted, &cache);     // and is over
#ifndef MLC_ENGINE_BRANCHES_H_
#define MLC_ENGINE_BRANCHES_H_

#include "engine/step.h"

namespace mlc {

// Adds the rows of all branches but the first, whose rows, and those of known tokens, are in
// `batch` already, from `first_row` on. What a branch shares with others in a page of its own is
// copied by the step (Batch::copy_source). kResourceExhausted when pages are short.
Status AddBranches(const StepItem& item, int first_row, KVCache* cache, Batch* batch);

// How many pages the branch takes that `draft` begins.
int PagesOfBranch(const StepItem& item, int draft, int page_size);

// The sequence goes on as the branch that `draft` is on, behind which it still has what the branch
// has; the other branches are gone. Drafts::kKnown: as the first branch.
void KeepBranch(SequenceId sequence, const Drafts& drafts, int draft, KVCache* cache);

// Removes all branches but the first, as far as there are any.
void RemoveBranches(SequenceId sequence, const Drafts& drafts, KVCache* cache);

}  // namespace mlc

#endif  // MLC_ENGINE_BRANCHES_H_
