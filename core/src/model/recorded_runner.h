// Runs decode steps on a device as one program whose kernel launches are recorded. Another runner
// does all other steps.
#ifndef MLC_MODEL_RECORDED_RUNNER_H_
#define MLC_MODEL_RECORDED_RUNNER_H_

#include <memory>
#include <vector>

#include "model/step_runner.h"
#include "runtime/kernel_program.h"

namespace mlc {

class RecordedRunner : public StepRunner {
 public:
  // Returns `others` itself when the library has no such program.
  static Result<std::unique_ptr<StepRunner>> Over(std::unique_ptr<StepRunner> others,
                                                  const ModelLibrary& library,
                                                  const LibraryMetadata& metadata,
                                                  const TensorList& params, Device device);

  void SetPages(const std::vector<Tensor>& layers) override;
  void SetStates(const std::vector<Tensor>& states) override;
  bool has_token_trees() const override { return others_->has_token_trees(); }
  Result<Tensor> Logits(const Batch& batch) override;
  Result<Tensor> HiddenStates(const Batch& batch, const std::vector<int32_t>& rows) override {
    return others_->HiddenStates(batch, rows);
  }
  Result<Tensor> LogitsOf(const float* hidden_states, int64_t num_rows) override {
    return others_->LogitsOf(hidden_states, num_rows);
  }

 private:
  RecordedRunner(std::unique_ptr<StepRunner> others, std::unique_ptr<KernelProgram> decode);

  std::unique_ptr<StepRunner> others_;
  std::unique_ptr<KernelProgram> decode_;
  std::vector<int32_t> padded_pages_;  // for the current step
};

}  // namespace mlc

#endif  // MLC_MODEL_RECORDED_RUNNER_H_
