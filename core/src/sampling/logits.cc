#include "sampling/logits.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlc {
namespace {

// Copies `from` where the bit is set, and writes an impossible value elsewhere; up to 32 values. It
// is written for vector instructions: each lane tests its own bit.
void SelectBits(uint32_t bits, const float* from, int count, float* to) {
  for (int i = 0; i < count; ++i) {
    to[i] = (bits & (1u << i)) != 0 ? from[i] : -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

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
    // already impossible, or an error that the sampler reports
    if (!std::isfinite(logit)) continue;
    // A penalty near 0 makes a token much likelier. The result must stay finite.
    constexpr float kMost = std::numeric_limits<float>::max();
    logit = std::clamp(logit > 0 ? logit / repetition : logit * repetition, -kMost, kMost);
    logit -= static_cast<float>(params.frequency_penalty * count + params.presence_penalty);
  }
}

void ApplyMask(const std::vector<int32_t>& mask, const float* logits, int vocab_size, float* to) {
  constexpr int kBits = 32;
  constexpr float kImpossible = -std::numeric_limits<float>::infinity();
  for (int first = 0; first < vocab_size;) {
    size_t word = static_cast<size_t>(first / kBits);
    uint32_t allowed = word < mask.size() ? static_cast<uint32_t>(mask[word]) : 0;
    int count = std::min(kBits, vocab_size - first);
    const float* from = logits + first;
    if (allowed == 0) {  // most words are 0: handle a run of them at once
      size_t end = word + 1, last = static_cast<size_t>((vocab_size - 1) / kBits) + 1;
      while (end < last && (end >= mask.size() || mask[end] == 0)) ++end;
      count = std::min(static_cast<int>(end) * kBits, vocab_size) - first;
      std::fill_n(to + first, count, kImpossible);
    } else if (allowed == ~0u) {
      if (to != logits) std::copy_n(from, count, to + first);
    } else {
      SelectBits(allowed, from, count, to + first);
    }
    first += count;
  }
}

}  // namespace mlc
