// Choosing tokens where the logits of a step lie, so that tokens come back instead of rows of
// floats.
//
//   batch.keeps_logits = true;
//   model->Forward(batch);
//   model->sampler()->Sample(tasks);      // some rows
//   model->sampler()->ReadRows(rows, to);  // others
#ifndef MLC_MODEL_DEVICE_SAMPLER_H_
#define MLC_MODEL_DEVICE_SAMPLER_H_

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "model/sampler_words.gen.h"

namespace mlc {

// One token to be chosen, as sampling/sampler_cpu.h chooses it. Where the mask and the changes lie
// is the sampler's to say.
struct SampleTask : TaskWords {
  std::vector<int32_t> mask;         // one bit a token, low bits first; empty: all may be chosen
  std::vector<LogitChange> changes;  // each of another token below `limit`
};

class DeviceSampler {
 public:
  virtual ~DeviceSampler() = default;
  // The tokens of `tasks`, each of another row of the last step, which is used up; -1 where no
  // token is possible or a logit is not a number.
  virtual Result<std::vector<int32_t>> Sample(const std::vector<SampleTask>& tasks) = 0;
  // Copies rows of the last step, ascending, that Sample was not given: `to` [rows, vocab_size].
  virtual Status ReadRows(const std::vector<int32_t>& rows, float* to) = 0;
};

}  // namespace mlc

#endif  // MLC_MODEL_DEVICE_SAMPLER_H_
