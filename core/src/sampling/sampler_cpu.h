// Choosing a token from one row of logits on the CPU.
#ifndef MLC_SAMPLING_SAMPLER_CPU_H_
#define MLC_SAMPLING_SAMPLER_CPU_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"
#include "sampling/logits.h"

namespace mlc {

// Natural logarithms of probabilities under the model's own distribution: before bias, penalties,
// mask and temperature.
struct TokenLogprobs {
  float chosen = 0;
  std::vector<std::pair<int32_t, float>> top;  // most likely first
};

// log(softmax(logits))[token] and the `num_top` most likely tokens. `logits` [vocab_size].
TokenLogprobs ComputeLogprobs(const float* logits, int vocab_size, int32_t token, int num_top);

// The token for `uniform` in [0, 1), by temperature, top_k, top_p and min_p, in that order. Of
// equal logits the lower id counts as the more likely. `logits` [vocab_size]. kInternal when no
// token is possible or a logit is not a number.
Result<int32_t> SampleToken(const SamplingParams& params, const float* logits, int vocab_size,
                            double uniform);

}  // namespace mlc

#endif  // MLC_SAMPLING_SAMPLER_CPU_H_
