#include "engine/speculation/prompt_lookup.h"

#include <algorithm>
#include <utility>

namespace mlc {
namespace {

constexpr int kShortestRun = 2;
constexpr int kLongestRun = 8;      // the search stops at this length, which limits its time
constexpr size_t kMostPlaces = 64;  // at most so many places are compared

// How many tokens before `end` equal the last tokens of `tokens`.
int RunBefore(const std::vector<int32_t>& tokens, size_t end) {
  int longest = static_cast<int>(std::min<size_t>(kLongestRun, end));
  int run = 0;
  while (run < longest && tokens[end - 1 - run] == tokens[tokens.size() - 1 - run]) ++run;
  return run;
}

// Adds at most `most` tokens that followed `end`, unless the tree has them already. Stops at an id
// below zero, which is not a token.
void AddContinuation(const std::vector<int32_t>& tokens, size_t end, int most, Drafts* tree) {
  // When the two runs overlap, the continuation repeats itself.
  size_t period = tokens.size() - end;
  int at = Drafts::kKnown;
  for (int i = 0; i < most; ++i) {
    int32_t token = tokens[end + static_cast<size_t>(i) % period];
    if (token < 0) return;
    int found = tree->Child(at, token);
    if (found == Drafts::kNone) tree->Add(token, at);
    at = found == Drafts::kNone ? tree->size() - 1 : found;
  }
}

FoundDrafts LookUpChain(const std::vector<int32_t>& tokens, int max_drafts) {
  int best_run = kShortestRun - 1;
  size_t best_end = 0;
  for (size_t end = tokens.size(); end-- > 1 && best_run < kLongestRun;) {
    int run = RunBefore(tokens, end);
    if (run <= best_run) continue;
    best_run = run;
    best_end = end;
  }
  if (best_end == 0) return FoundDrafts();
  FoundDrafts found{Drafts(), best_run};
  AddContinuation(tokens, best_end, max_drafts, &found.drafts);
  return found;
}

FoundDrafts LookUpTree(const std::vector<int32_t>& tokens, int max_drafts, int width) {
  std::vector<std::pair<int, size_t>> places;  // the length of the run, and its end
  for (size_t end = tokens.size(); end-- > 1;) {
    int run = RunBefore(tokens, end);
    if (run >= kShortestRun) places.emplace_back(run, end);
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Drafts tree;
  int num_leaves = 0;
  for (size_t i = 0; i < places.size() && i < kMostPlaces && num_leaves < width; ++i) {
    int before = tree.size();
    AddContinuation(tokens, places[i].second, max_drafts, &tree);
    num_leaves += tree.size() > before ? 1 : 0;
  }
  return {tree.DepthFirst(), places.empty() ? 0 : places.front().first};
}

}  // namespace

FoundDrafts LookUpDrafts(const std::vector<int32_t>& tokens, int max_drafts, int width) {
  return width > 1 ? LookUpTree(tokens, max_drafts, width) : LookUpChain(tokens, max_drafts);
}

FoundDrafts PromptLookup::Find(const std::vector<int32_t>& tokens, int max_drafts,
                               int width) const {
  if (where_ == Lookup::kNone) return FoundDrafts();
  FoundDrafts own = LookUpDrafts(tokens, max_drafts, width);
  Drafts others = ngrams_.LookUp(tokens, max_drafts, own.run);
  if (others.empty()) return own;
  return {std::move(others), std::max(own.run + 1, kLongRunTokens)};
}

void PromptLookup::Learn(Sequence* sequence) {
  if (where_ != Lookup::kAllTexts) return;
  ngrams_.Learn(sequence->tokens(), sequence->num_learned);
  sequence->num_learned = sequence->num_tokens();
}

}  // namespace mlc
