#include "engine/speculation/prediction.h"

#include <algorithm>
#include <cstdlib>

namespace mlc {
namespace {

constexpr int kLeastAgreeing = 2, kMostAgreeing = 32;  // the longest run limits the time

}  // namespace

Drafts LookUpPrediction(const Sequence& sequence, int max_drafts) {
  const std::vector<int32_t>& prediction = sequence.request->request.prediction;
  const int generated = sequence.num_generated(), size = static_cast<int>(prediction.size());
  // How many tokens before `end` equal the last tokens of the answer.
  auto run_before = [&](int end) {
    int longest = std::min({kMostAgreeing, generated, end}), run = 0;
    const int32_t *here = prediction.data() + end,
                  *last = sequence.tokens().data() + sequence.num_tokens();
    while (run < longest && here[-1 - run] == last[-1 - run]) ++run;
    return run;
  };
  int best_run = std::min(kLeastAgreeing, generated) - 1, best_end = 0;
  for (int end = 1; end < size; ++end) {
    int run = run_before(end);
    bool is_nearer = std::abs(end - generated) < std::abs(best_end - generated);
    if (run < best_run || (run == best_run && (best_end == 0 || !is_nearer))) continue;
    best_run = run;
    best_end = end;
  }
  if (best_end == 0) return Drafts();
  auto from = prediction.begin() + best_end;
  return std::vector<int32_t>(from, from + std::min(max_drafts, size - best_end));
}

}  // namespace mlc
