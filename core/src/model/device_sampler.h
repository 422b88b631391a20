// Chooses tokens on the device that holds the logits of a step. So the host gets tokens instead of
// rows of floats.
//
//   batch.keeps_logits = true;
//   model->Forward(batch);
//   model->sampler()->Sample(tasks);       // some rows
//   model->sampler()->ReadRows(rows, to);  // other rows
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "sampling/sampler_words.gen.h"

namespace mlc {

// One token to choose, by the rules of sampling/sampler_cpu.h. The sampler fills in where the mask
// and the changes are stored.
struct SampleTask : TaskWords {
  std::vector<int32_t> mask;         // one bit per token, low bits first; empty: all are allowed
  std::vector<LogitChange> changes;  // at most one per token, for tokens below `limit`
};

class DeviceSampler {
 public:
  virtual ~DeviceSampler() = default;
  // Returns one token for each task; -1 when no token is possible or a logit is not a number. Each
  // task uses a different row of the last step, and overwrites it.
  virtual Result<std::vector<int32_t>> Sample(const std::vector<SampleTask>& tasks) = 0;
  // Copies rows of the last step to `to` [rows, vocab_size]. `rows` are ascending, and no task of
  // Sample has used them.
  virtual Status ReadRows(const std::vector<int32_t>& rows, float* to) = 0;
};

}  // namespace mlc
