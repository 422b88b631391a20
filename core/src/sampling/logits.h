// The changes to one row of logits before a token is chosen from it.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "sampling/sampler_words.gen.h"
#include "sampling/sampling_numbers.gen.h"

namespace mlc {

// How a request wants its tokens chosen.
struct SamplingParams : SamplingNumbers {
  std::vector<std::pair<int32_t, float>> logit_bias;
  std::shared_ptr<const std::vector<bool>> dry_breakers;  // by token id; null: there are none
  uint64_t seed = 0;
  bool logprobs = false;
  int top_logprobs = 0;

  bool is_greedy() const { return temperature < 1e-6; }  // exp((x - max) / t) is then 0 or 1
  bool has_penalties() const {
    return frequency_penalty != 0 || presence_penalty != 0 || repetition_penalty != 1;
  }
  bool has_dry() const { return dry_multiplier > 0 && dry_penalty_last_n != 0; }
  bool changes_logits() const { return has_penalties() || has_dry() || !logit_bias.empty(); }
  bool narrows_by_sigma() const { return top_n_sigma > 0 && !is_greedy(); }
};

// Counts how often each token was generated in a sequence, for the penalties.
class TokenCounts {
 public:
  void Add(int32_t token) { ++counts_[token]; }
  // Undoes one Add.
  void Remove(int32_t token) {
    auto found = counts_.find(token);
    if (--found->second == 0) counts_.erase(found);
  }
  const std::unordered_map<int32_t, int>& counts() const { return counts_; }

 private:
  std::unordered_map<int32_t, int> counts_;
};

// What bias and penalties do to the logits of tokens below `vocab_size`, at most one change for
// each: frequency and presence of the tokens generated so far as OpenAI defines them, repetition as
// in Keskar et al. 2019 (CTRL), and DRY (sampling/dry.h) of the tokens `newest_first`.
std::vector<LogitChange> ChangesOf(const SamplingParams& params, const TokenCounts& counts,
                                   const std::vector<int32_t>& newest_first, int vocab_size);

// `logits` has a row for each changed token. What is not finite stays as it is.
void ApplyChanges(const std::vector<LogitChange>& changes, float* logits);

// The standard deviation of the finite logits. `logits` is [vocab_size].
double Deviation(const float* logits, int vocab_size);

// Makes the tokens impossible whose logit is more than `most` below the largest, in place.
void KeepNearLargest(double most, float* logits, int vocab_size);

// Copies the row; tokens whose bit is 0 become impossible. `mask` has one bit for each token, low
// bits first. `to` may be `logits`. Both are [vocab_size].
void ApplyMask(const std::vector<int32_t>& mask, const float* logits, int vocab_size, float* to);

}  // namespace mlc
