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

namespace mlc {

// What happens to a finite logit before the mask: plus `bias`; divided by `repetition` where that
// is positive, else multiplied; minus `penalty`.
struct LogitChange {
  int32_t token;
  float bias, repetition, penalty;
};

// One token to be chosen, as sampling/sampler_cpu.h chooses it.
struct SampleTask {
  int32_t row = 0;                   // of the step's logits
  int32_t limit = 0;                 // tokens that may be chosen: the first ones
  std::vector<int32_t> mask;         // one bit a token, low bits first; empty: all may be chosen
  std::vector<LogitChange> changes;  // each of another token below `limit`
  int32_t top_k = 0;                 // 0: all; 1: the likeliest token, whatever follows
  float scale = 1;                   // 1 / temperature, 1e6 at most
  float top_p = 1, min_p = 0;
  float uniform = 0;  // in [0, 1)
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
