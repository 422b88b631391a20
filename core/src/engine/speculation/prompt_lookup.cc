#include "engine/speculation/prompt_lookup.h"

#include <algorithm>

namespace mlc {
namespace {

constexpr int kShortestRun = 2;
constexpr int kLongestRun = 8;  // a longer one is not looked for: it bounds the time

// How many tokens before `end` equal those before the end of `tokens`.
int RunBefore(const std::vector<int32_t>& tokens, size_t end) {
  int longest = static_cast<int>(std::min<size_t>(kLongestRun, end));
  int run = 0;
  while (run < longest && tokens[end - 1 - run] == tokens[tokens.size() - 1 - run]) ++run;
  return run;
}

}  // namespace

Drafts LookUpDrafts(const std::vector<int32_t>& tokens, int max_drafts) {
  int best_run = kShortestRun - 1;
  size_t best_end = 0;
  for (size_t end = tokens.size(); end-- > 1 && best_run < kLongestRun;) {
    int run = RunBefore(tokens, end);
    if (run <= best_run) continue;
    best_run = run;
    best_end = end;
  }
  if (best_end == 0) return {};
  // Where the two runs overlap, what follows repeats itself.
  size_t period = tokens.size() - best_end;
  Drafts drafts;
  for (int i = 0; i < max_drafts; ++i) {
    drafts.push_back(tokens[best_end + static_cast<size_t>(i) % period]);
  }
  return drafts;
}

Result<std::vector<Drafts>> PromptLookup::Draft(const std::vector<DraftTask>& tasks) {
  std::vector<Drafts> drafts;
  for (const DraftTask& task : tasks) {
    drafts.push_back(LookUpDrafts(task.sequence->tokens(), task.max_drafts));
  }
  return drafts;
}

}  // namespace mlc
