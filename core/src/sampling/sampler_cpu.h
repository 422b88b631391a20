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

// Memory that the functions below use again; one for each thread. What it holds is theirs alone.
struct SamplerScratch {
  std::vector<float> row;      // a caller's own copy of a row
  std::vector<float> weights;  // of the tokens that are left, in the order of their ids
  std::vector<int32_t> ids;
  std::vector<float> block_max;
};

// log(softmax(logits))[token] and the `num_top` most likely tokens. `logits` [vocab_size].
TokenLogprobs ComputeLogprobs(const float* logits, int vocab_size, int32_t token, int num_top,
                              SamplerScratch* scratch);

// What to say when no token is possible.
Status NoToken();

// The token for `uniform` in [0, 1), by temperature, top_k, top_p and min_p, in that order. Of
// equally likely tokens the lower id comes first. Probabilities are a float's: what differs by less
// counts as equal. `logits` [vocab_size]. kInternal when no token is possible or a logit is not a
// number.
Result<int32_t> SampleToken(const SamplingParams& params, const float* logits, int vocab_size,
                            double uniform, SamplerScratch* scratch);

}  // namespace mlc

#endif  // MLC_SAMPLING_SAMPLER_CPU_H_
