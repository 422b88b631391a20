// Finds the inputs of a function in a batch, by name.
//
//   MLC_ASSIGN_OR_RETURN(BoundInputs inputs, BoundInputs::Make("batch_prefill", specs));
//   MLC_ASSIGN_OR_RETURN(std::vector<ProgramInput>* values, inputs.Of(batch));
//   (*values)[inputs.index(kEmbeddings)] = ...;  // what a batch does not have
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "runtime/input_spec.h"
#include "runtime/kernel_program.h"

namespace mlc {

class BoundInputs {
 public:
  BoundInputs() = default;
  // `specs`: in the order of the function's arguments. Errors, of param `model_lib`: kUnsupported
  // for a name that this engine does not know; kCorrupt when an input has another shape or type
  // than the engine's, or when one is missing that every step takes.
  static Result<BoundInputs> Make(const std::string& function, std::vector<InputSpec> specs);

  // The values in that order, valid until the next call. Embeddings, pages, states and parameters
  // are no values of a batch: their entries are empty. kUnsupported when the batch has an input
  // that the function does not take; `tokens` may be for another function.
  Result<std::vector<ProgramInput>*> Of(const Batch& batch);
  // Whether the function takes all inputs that the batch has.
  bool Takes(const Batch& batch) const { return Surplus(batch) == nullptr; }

  const std::vector<InputSpec>& specs() const { return specs_; }
  // -1: there is no such input.
  int index(std::string_view name) const;

 private:
  // The first input of the batch that the function does not take; null: there is none.
  const StepInput* Surplus(const Batch& batch) const;
  ProgramInput ValueOf(const StepInput& input, const Batch& batch, std::vector<int32_t>* made);

  std::vector<InputSpec> specs_;
  std::vector<const StepInput*> inputs_;    // for each spec; null: no value of a batch
  std::vector<const StepInput*> others_;    // that the function does not take
  std::vector<std::vector<int32_t>> made_;  // for each spec: what a batch left out
  std::vector<ProgramInput> values_;        // for the current step
};

}  // namespace mlc
