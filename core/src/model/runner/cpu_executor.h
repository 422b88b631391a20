// Runs steps on this CPU, kernel by kernel (runtime/kernel_program.h).
#pragma once

#include <memory>
#include <vector>

#include "model/runner/bound_inputs.h"
#include "model/runner/step_executor.h"
#include "runtime/kernel_program.h"

namespace mlc {

class CpuExecutor : public StepExecutor {
 public:
  // Null when the library has no programs. kCorrupt when it has only some of them.
  static Result<std::unique_ptr<CpuExecutor>> Load(const ModelLibrary& library,
                                                   const LibraryMetadata& metadata,
                                                   const TensorList& params);

  void SetPages(const std::vector<Tensor>& layers) override { step_->SetPages(layers); }
  void SetStates(const std::vector<Tensor>& states) override { step_->SetStates(states); }
  void SetAdapters(const std::vector<Tensor>& adapters) override { step_->SetAdapters(adapters); }
  Result<StepTensors> Run(const Batch& batch) override;
  Result<Tensor> RunHead(const float* vectors, int64_t count) override;

 private:
  CpuExecutor() = default;

  std::unique_ptr<KernelProgram> embed_, step_;  // null: it has only a head
  std::unique_ptr<KernelProgram> head_;          // null: the model has none
  const char* head_result_ = "";
  BoundInputs inputs_;          // of step_
  size_t embedding_bytes_ = 0;  // bytes of one row
  int hidden_size_ = 0;
};

}  // namespace mlc
