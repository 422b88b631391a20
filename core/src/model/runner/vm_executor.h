// Runs steps with the virtual machine of a model library, on any device.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/runner/bound_inputs.h"
#include "model/runner/library_call.h"
#include "model/runner/step_executor.h"

namespace mlc {

class VmExecutor : public StepExecutor {
 public:
  static Result<std::unique_ptr<VmExecutor>> Load(ModelLibrary* library,
                                                  const LibraryMetadata& metadata,
                                                  const TensorList& params, Device device);

  void SetPages(const std::vector<Tensor>& layers) override { pages_ = TensorList(layers); }
  void SetStates(const std::vector<Tensor>& states) override { states_ = TensorList(states); }
  void SetAdapters(const std::vector<Tensor>& adapters) override {
    adapters_ = TensorList(adapters);
  }
  Result<StepTensors> Run(const Batch& batch) override;
  Result<Tensor> RunHead(const float* vectors, int64_t count) override;

 private:
  VmExecutor(ModelLibrary* library, const LibraryMetadata& metadata, TensorList params,
             Device device);
  Result<Tensor> Embed(const Batch& batch);

  ModelInfo info_;
  std::optional<LibraryCall> embed_, step_, head_;  // nothing: the model has none
  BoundInputs inputs_;                              // of step_
  TensorList params_, pages_, states_, adapters_;
  Device device_;
};

}  // namespace mlc
