#include "engine/scoring.h"

#include <algorithm>

#include "runtime/parallel.h"

namespace mlc {
namespace {

std::vector<GeneratedToken> ScoreItem(const LogitRows& rows, const StepItem& item,
                                      const float* logits, std::vector<SamplerScratch>* scratch) {
  const Sequence& sequence = *item.sequence;
  const SamplingParams& params = sequence.request->request.sampling;
  std::vector<GeneratedToken> scores(static_cast<size_t>(item.num_scored));
  scratch->resize(std::max<size_t>(scratch->size(), MaxWorkers()));
  ParallelFor(item.num_scored, [&](int row, int worker) {
    size_t at = static_cast<size_t>(row);
    int32_t next = sequence.tokens()[static_cast<size_t>(sequence.num_computed) + at + 1];
    const float* of_row = logits + at * static_cast<size_t>(rows.stride);
    scores[at] = {next, ComputeLogprobs(of_row, rows.vocab_size, next, params.top_logprobs,
                                        &(*scratch)[static_cast<size_t>(worker)])};
  });
  return scores;
}

}  // namespace

int MaxScoredRows(int vocab_size) {
  constexpr int kLogits = 1 << 24;
  return std::max(1, kLogits / std::max(1, vocab_size));
}

void ScorePrompts(const LogitRows& rows, const std::vector<StepItem>& items,
                  const std::vector<ItemLogits>& logits, std::vector<SamplerScratch>* scratch) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].sequence->wants_scores()) continue;
    // A prompt of one token has no row to score. It is complete without scores.
    items[i].sequence->AddScores(ScoreItem(rows, items[i], logits[i].logits, scratch));
  }
}

}  // namespace mlc
