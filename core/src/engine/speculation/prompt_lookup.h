// Drafting without a model. It finds an earlier place in the sequence with the same last tokens,
// and drafts the tokens that followed there. This helps answers that quote, summarize, rewrite or
// repeat. Where a longer n-gram of another request's text agrees, it drafts what followed there:
// answers of one form, such as the same JSON with other values.
#pragma once

#include <vector>

#include "engine/speculation/drafter.h"
#include "engine/speculation/ngram_table.h"

namespace mlc {

struct FoundDrafts {
  Drafts drafts;
  int run = 0;  // how many tokens agree before them
};

// Finds the earlier place where the longest run of last tokens occurs (the latest, if several are
// equally long). Returns at most `max_drafts` tokens that followed it; none if fewer than two
// tokens match. With `width` over 1 it returns up to `width` different continuations, from the best
// places. The time is linear in `tokens`, except for sorting the places.
FoundDrafts LookUpDrafts(const std::vector<int32_t>& tokens, int max_drafts, int width = 1);

class PromptLookup : public Drafter {
 public:
  bool is_free() const override { return true; }
  Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) override;
  void Learn(Sequence* sequence) override;
  void Clear() override { ngrams_.Clear(); }
  double seconds_per_draft(int) const override { return 0; }

 private:
  NgramTable ngrams_;
};

}  // namespace mlc
