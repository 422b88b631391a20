// Drafting without a model. It finds an earlier place in the sequence with the same last tokens,
// and drafts the tokens that followed there. This helps answers that quote, summarize, rewrite or
// repeat.
#ifndef MLC_ENGINE_SPECULATION_PROMPT_LOOKUP_H_
#define MLC_ENGINE_SPECULATION_PROMPT_LOOKUP_H_

#include <vector>

#include "engine/speculation/drafter.h"

namespace mlc {

// Finds the earlier place where the longest run of last tokens occurs (the latest, if several are
// equally long). Returns at most `max_drafts` tokens that followed it; none if fewer than two
// tokens match. With `width` over 1 it returns up to `width` different continuations, from the best
// places. The time is linear in `tokens`, except for sorting the places.
Drafts LookUpDrafts(const std::vector<int32_t>& tokens, int max_drafts, int width = 1);

class PromptLookup : public Drafter {
 public:
  bool is_free() const override { return true; }
  Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) override;
  double seconds_per_draft(int) const override { return 0; }
};

}  // namespace mlc

#endif  // MLC_ENGINE_SPECULATION_PROMPT_LOOKUP_H_
