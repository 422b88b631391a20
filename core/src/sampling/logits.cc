#include "sampling/logits.h"

#include <limits>

namespace mlc {

void ApplyBiasAndPenalties(const SamplingParams& params, const TokenCounts& counts, float* logits,
                           int vocab_size) {
  for (const auto& [token, bias] : params.logit_bias) {
    if (token >= 0 && token < vocab_size) logits[token] += bias;
  }
  if (params.frequency_penalty == 0 && params.presence_penalty == 0 &&
      params.repetition_penalty == 1) {
    return;
  }
  float repetition = static_cast<float>(params.repetition_penalty);
  for (const auto& [token, count] : counts.counts()) {
    if (token >= vocab_size) continue;
    float& logit = logits[token];
    logit = logit > 0 ? logit / repetition : logit * repetition;
    logit -= static_cast<float>(params.frequency_penalty * count + params.presence_penalty);
  }
}

void ApplyMask(const std::vector<int32_t>& mask, float* logits, int vocab_size) {
  constexpr float kImpossible = -std::numeric_limits<float>::infinity();
  for (int token = 0; token < vocab_size; ++token) {
    bool allowed = static_cast<size_t>(token / 32) < mask.size() &&
                   (static_cast<uint32_t>(mask[token / 32]) >> (token % 32) & 1) != 0;
    if (!allowed) logits[token] = kImpossible;
  }
}

}  // namespace mlc
