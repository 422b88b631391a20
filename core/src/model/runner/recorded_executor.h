// Runs decode steps on a device as one program whose kernel launches are recorded. Another executor
// does all other steps.
#pragma once

#include <memory>
#include <vector>

#include "model/runner/bound_inputs.h"
#include "model/runner/step_executor.h"
#include "runtime/kernel_program.h"

namespace mlc {

class RecordedExecutor : public StepExecutor {
 public:
  // Returns `others` itself when the library has no such program.
  static Result<std::unique_ptr<StepExecutor>> Over(std::unique_ptr<StepExecutor> others,
                                                    const ModelLibrary& library,
                                                    const LibraryMetadata& metadata,
                                                    const TensorList& params, Device device);

  void SetPages(const std::vector<Tensor>& layers) override;
  void SetStates(const std::vector<Tensor>& states) override;
  void SetAdapters(const std::vector<Tensor>& adapters) override { others_->SetAdapters(adapters); }
  Result<StepTensors> Run(const Batch& batch) override;
  Result<Tensor> RunHead(const float* vectors, int64_t count) override {
    return others_->RunHead(vectors, count);
  }

 private:
  RecordedExecutor(std::unique_ptr<StepExecutor> others, std::unique_ptr<KernelProgram> decode,
                   BoundInputs inputs);
  // Whether every sequence has one row, a token, every row wants logits, and the program takes all
  // inputs of the batch.
  bool IsDecode(const Batch& batch) const;

  std::unique_ptr<StepExecutor> others_;
  std::unique_ptr<KernelProgram> decode_;
  BoundInputs inputs_;                                   // of decode_
  std::vector<int32_t> padded_pages_, padded_windowed_;  // for the current step
};

}  // namespace mlc
