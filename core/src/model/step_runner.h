// What executes the steps of a compiled model. Who asks for a step knows neither devices nor how
// kernels are called: by TVM's virtual machine (vm_runner), kernel by kernel on this processor
// (cpu_runner), or as a recorded program (recorded_runner).
//
//   MLC_ASSIGN_OR_RETURN(auto runner, MakeStepRunner(&library, metadata, params, device));
//   runner->SetPages(layers);
//   MLC_ASSIGN_OR_RETURN(Tensor logits, runner->Logits(batch));
#ifndef MLC_MODEL_STEP_RUNNER_H_
#define MLC_MODEL_STEP_RUNNER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "model/model.h"
#include "model/model_config.h"
#include "runtime/model_library.h"
#include "runtime/tensor.h"

namespace mlc {

// Results are float32, where they were computed (Tensor::OnHost brings them), and the runner's
// until its next call.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  // The pages of each layer, and the tensors of slots of recurrent states, which every step reads
  // and writes: before the first step, and when they are others.
  virtual void SetPages(const std::vector<Tensor>& layers) = 0;
  virtual void SetStates(const std::vector<Tensor>& states) = 0;
  // Whether Logits takes batches with copies of slots.
  virtual bool has_token_trees() const = 0;
  // Of the batch's logit_rows: [m, vocab_size].
  virtual Result<Tensor> Logits(const Batch& batch) = 0;
  // Of any rows of the batch, in any order: [rows, hidden_size]. Needs info.hidden_size.
  virtual Result<Tensor> HiddenStates(const Batch& batch, const std::vector<int32_t>& rows) = 0;
  // Of hidden states [num_rows, hidden_size] on the host: [num_rows, vocab_size].
  virtual Result<Tensor> LogitsOf(const float* hidden_states, int64_t num_rows) = 0;
};

// The fastest runner that the library has functions for on the device. `library` must outlive it;
// `params` are all parameters, in the library's order. Errors: kCorrupt.
Result<std::unique_ptr<StepRunner>> MakeStepRunner(ModelLibrary* library,
                                                   const LibraryMetadata& metadata,
                                                   const TensorList& params, Device device);

}  // namespace mlc

#endif  // MLC_MODEL_STEP_RUNNER_H_
