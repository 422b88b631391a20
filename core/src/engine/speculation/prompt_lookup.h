// Drafting without a model. It finds an earlier place in the sequence with the same last tokens,
// and drafts the tokens that followed there. This helps answers that quote, summarize, rewrite or
// repeat. Where a longer n-gram of another request's text agrees, it drafts what followed there:
// answers of one form, such as the same JSON with other values. It takes no time compared with a
// step of the model.
#pragma once

#include <vector>

#include "engine/drafts.h"
#include "engine/sequence.h"
#include "engine/speculation/ngram_table.h"

namespace mlc {

enum class Lookup {
  kNone,
  kOwnText,   // in the sequence itself
  kAllTexts,  // and in a table of all sequences, which has NgramTable::kBytes
};

// A run of so many tokens is long: the shortest n-gram of the table.
constexpr int kLongRunTokens = 4;

struct FoundDrafts {
  Drafts drafts;
  int run = 0;  // how many tokens agree before them
};

// Finds the earlier place where the longest run of last tokens occurs (the latest, if several are
// equally long). Returns at most `max_drafts` tokens that followed it; none if fewer than two
// tokens match. With `width` over 1 it returns up to `width` different continuations, from the best
// places. The time is linear in `tokens`, except for sorting the places.
FoundDrafts LookUpDrafts(const std::vector<int32_t>& tokens, int max_drafts, int width = 1);

class PromptLookup {
 public:
  explicit PromptLookup(Lookup where) : where_(where) {}

  FoundDrafts Find(const std::vector<int32_t>& tokens, int max_drafts, int width) const;
  // Called with each sequence that a step gave tokens.
  void Learn(Sequence* sequence);
  // Frees the table.
  void Clear() { ngrams_.Clear(); }

 private:
  Lookup where_;
  NgramTable ngrams_;
};

}  // namespace mlc
