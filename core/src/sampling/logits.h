// What is done to one row of logits before a token is chosen from it.
#ifndef MLC_SAMPLING_LOGITS_H_
#define MLC_SAMPLING_LOGITS_H_

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "sampling/sampling_numbers.gen.h"

namespace mlc {

// How a request wants its tokens chosen.
struct SamplingParams : SamplingNumbers {
  std::vector<std::pair<int32_t, float>> logit_bias;
  uint64_t seed = 0;
  bool logprobs = false;
  int top_logprobs = 0;

  bool is_greedy() const { return temperature < 1e-6; }  // exp((x - max) / t) is 0 or 1
  bool has_penalties() const {
    return frequency_penalty != 0 || presence_penalty != 0 || repetition_penalty != 1;
  }
  bool changes_logits() const { return has_penalties() || !logit_bias.empty(); }
};

// How often each token was generated in a sequence, for the penalties.
class TokenCounts {
 public:
  void Add(int32_t token) { ++counts_[token]; }
  // Takes one Add back.
  void Remove(int32_t token) {
    auto found = counts_.find(token);
    if (--found->second == 0) counts_.erase(found);
  }
  const std::unordered_map<int32_t, int>& counts() const { return counts_; }

 private:
  std::unordered_map<int32_t, int> counts_;
};

// Adds the bias, then subtracts the penalties of what was generated so far: frequency and presence
// as OpenAI defines them, repetition as Keskar et al. 2019 (CTRL): divide what is positive,
// multiply what is negative. `logits` [vocab_size].
void ApplyBiasAndPenalties(const SamplingParams& params, const TokenCounts& counts, float* logits,
                           int vocab_size);

// Copies the row; tokens whose bit is 0 become impossible. `mask`: one bit a token, low bits first.
// `to` may be `logits`; both [vocab_size].
void ApplyMask(const std::vector<int32_t>& mask, const float* logits, int vocab_size, float* to);

}  // namespace mlc

#endif  // MLC_SAMPLING_LOGITS_H_
