// The sampling functions of a compiled library (compiler/nn/gpu/sampling.py).
#pragma once

#include <memory>
#include <vector>

#include "model/device_sampler.h"
#include "model/model_config.h"
#include "model/runner/library_call.h"
#include "runtime/model_library.h"

namespace mlc {

class TVMSampler : public DeviceSampler {
 public:
  // Null when the library has no such functions (a CPU library, an older library) or has another
  // version of them. `library` must outlive the sampler.
  static std::unique_ptr<TVMSampler> For(ModelLibrary* library, const LibraryMetadata& metadata,
                                         Device device);

  // The logits of the current step: [rows, vocab_size] float32, on the device.
  void SetLogits(Tensor logits) { logits_ = std::move(logits); }

  Result<std::vector<int32_t>> Sample(const std::vector<SampleTask>& tasks) override;
  Status ReadRows(const std::vector<int32_t>& rows, float* to) override;

 private:
  explicit TVMSampler(Device device) : device_(device) {}

  std::vector<LibraryCall> functions_;  // in the order of their costs
  Device device_;
  Tensor logits_;
  std::vector<int32_t> table_, extra_;  // kept to use their memory again
};

}  // namespace mlc
