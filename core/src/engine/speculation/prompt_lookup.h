// Drafting without a model: what followed the last few tokens when the sequence said them before,
// as answers do that quote, summarize, rewrite or repeat.
#ifndef MLC_ENGINE_SPECULATION_PROMPT_LOOKUP_H_
#define MLC_ENGINE_SPECULATION_PROMPT_LOOKUP_H_

#include <vector>

#include "engine/speculation/drafter.h"

namespace mlc {

// The tokens, at most `max_drafts`, that follow the earlier place where the longest run of last
// tokens stands (of equal ones the latest); none when fewer than two tokens are found again. With a
// `width` over 1, so many different continuations: those of the best places. Time is linear in
// `tokens`, but for sorting the places.
Drafts LookUpDrafts(const std::vector<int32_t>& tokens, int max_drafts, int width = 1);

class PromptLookup : public Drafter {
 public:
  bool is_free() const override { return true; }
  Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) override;
  double seconds_per_draft(int) const override { return 0; }
};

}  // namespace mlc

#endif  // MLC_ENGINE_SPECULATION_PROMPT_LOOKUP_H_
