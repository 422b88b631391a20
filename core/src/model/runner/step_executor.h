// Executes the steps of a model library on one device. There are three ways: by TVM's virtual
// machine (vm_executor), kernel by kernel on this CPU (cpu_executor), or as a recorded program
// (recorded_executor). All bind the inputs of a step by name (bound_inputs.h).
//
//   MLC_ASSIGN_OR_RETURN(auto executor, MakeStepExecutor(&library, metadata, params, device));
//   executor->SetPages(layers);
//   MLC_ASSIGN_OR_RETURN(StepTensors made, executor->Run(batch));
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/model.h"
#include "model/model_config.h"
#include "runtime/kernel_program.h"
#include "runtime/model_library.h"
#include "runtime/tensor.h"

namespace mlc {

// The results of a step: float32, where they were computed. Those without rows may be empty.
struct StepTensors {
  Tensor logits;         // for the batch's logit_rows: [m, vocab_size]
  Tensor hidden_states;  // for its hidden_rows: [h, hidden_size]
  Tensor layer_states;   // for its hidden_rows: [h, num_chosen_layers * hidden_size]
};

// The results of a program's last run, by name; those without rows are left empty.
Result<StepTensors> TensorsOf(const Batch& batch, KernelProgram* program);

// The function that RunHead calls, and its result.
struct HeadNames {
  const char* function;
  const char* result;
};
HeadNames HeadOf(const LibraryMetadata& metadata);

// The executor owns its results; they are valid until its next call.
class StepExecutor {
 public:
  virtual ~StepExecutor() = default;
  // Sets the pages of each layer, the tensors of recurrent states, and the pool of adapters. Call
  // these before the first step, and again when the tensors change.
  virtual void SetPages(const std::vector<Tensor>& layers) = 0;
  virtual void SetStates(const std::vector<Tensor>& states) = 0;
  virtual void SetAdapters(const std::vector<Tensor>& adapters) = 0;
  // kUnsupported when the batch has an input that the library does not take.
  virtual Result<StepTensors> Run(const Batch& batch) = 0;
  // As Model::RunHead, of `vectors` [count, state_size] on the host: [count, head_size].
  virtual Result<Tensor> RunHead(const float* vectors, int64_t count) = 0;
};

// Makes the fastest executor for the device that the library has functions for. `library` must
// outlive it. `params` are all parameters, in the library's order. Errors: kCorrupt; kUnsupported
// when the library takes an input that the engine does not know.
Result<std::unique_ptr<StepExecutor>> MakeStepExecutor(ModelLibrary* library,
                                                       const LibraryMetadata& metadata,
                                                       const TensorList& params, Device device);

}  // namespace mlc
