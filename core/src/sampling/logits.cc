#include "sampling/logits.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlc {

void ApplyBiasAndPenalties(const SamplingParams& params, const TokenCounts& counts, float* logits,
                           int vocab_size) {
  for (const auto& [token, bias] : params.logit_bias) {
    if (token >= 0 && token < vocab_size) logits[token] += bias;
  }
  if (!params.has_penalties()) return;
  float repetition = static_cast<float>(params.repetition_penalty);
  for (const auto& [token, count] : counts.counts()) {
    if (token >= vocab_size) continue;
    float& logit = logits[token];
    if (!std::isfinite(logit)) continue;  // impossible already, or the sampler's to refuse
    // A penalty next to 0 makes a token likelier without end, but no infinity.
    constexpr float kMost = std::numeric_limits<float>::max();
    logit = std::clamp(logit > 0 ? logit / repetition : logit * repetition, -kMost, kMost);
    logit -= static_cast<float>(params.frequency_penalty * count + params.presence_penalty);
  }
}

void ApplyMask(const std::vector<int32_t>& mask, float* logits, int vocab_size) {
  constexpr float kImpossible = -std::numeric_limits<float>::infinity();
  for (int first = 0; first < vocab_size; first += 32) {
    size_t word = static_cast<size_t>(first / 32);
    uint32_t allowed = word < mask.size() ? static_cast<uint32_t>(mask[word]) : 0;
    if (allowed == ~0u) continue;
    int count = std::min(32, vocab_size - first);
    if (allowed == 0) {  // as most words are
      std::fill_n(logits + first, count, kImpossible);
      continue;
    }
    for (int i = 0; i < count; ++i) {
      float logit = logits[first + i];
      logits[first + i] = (allowed >> i & 1) != 0 ? logit : kImpossible;
    }
  }
}

}  // namespace mlc
