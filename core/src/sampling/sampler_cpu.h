// Chooses a token from one row of logits on the CPU.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"
#include "sampling/logits.h"

namespace mlc {

// Natural logarithms of probabilities in the model's own distribution: before bias, penalties, mask
// and temperature.
struct TokenLogprobs {
  float chosen = 0;
  std::vector<std::pair<int32_t, float>> top;  // most likely first
};

// Scratch memory for the functions below; one for each thread. Callers must not use its content.
struct SamplerScratch {
  std::vector<float> row;      // a copy of a row, for the caller
  std::vector<float> weights;  // weights of the tokens that are left, ordered by id
  std::vector<int32_t> ids;
  std::vector<float> block_max;
};

// log(softmax(logits))[token] and the `num_top` most likely tokens. `logits` [vocab_size].
TokenLogprobs ComputeLogprobs(const float* logits, int vocab_size, int32_t token, int num_top,
                              SamplerScratch* scratch);

// The error when no token is possible.
Status NoToken();

// One random number in [0, 1) decides twice, independently: whether the likeliest tokens are
// excluded (XTC, P. E. Weidmann 2024), and then which token is chosen.
struct DrawNumbers {
  bool excludes_top;
  double uniform;
};
DrawNumbers NumbersFor(const SamplingParams& params, double uniform);

// Chooses the token for `uniform` in [0, 1), using temperature, top_k, top_p, min_p and XTC, in
// that order. Of equally likely tokens the lower id comes first. Probabilities are floats: smaller
// differences count as equal. `logits` is [vocab_size]. Returns kInternal when no token is possible
// or a logit is NaN.
Result<int32_t> SampleToken(const SamplingParams& params, const float* logits, int vocab_size,
                            double uniform, SamplerScratch* scratch);

}  // namespace mlc
