#include "model/runner/bound_inputs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "model/runner/library_functions.h"

namespace mlc {
namespace {

// Arguments that are no values of a batch.
constexpr std::string_view kOwn[] = {kEmbeddings, kTargetStates,   kPages,
                                     kStates,     kAdapterWeights, kParams};

const StepInput* Find(std::string_view name) {
  auto found = std::find_if(std::begin(kStepInputs), std::end(kStepInputs),
                            [&](const StepInput& input) { return input.name == name; });
  return found == std::end(kStepInputs) ? nullptr : found;
}

bool IsOwn(std::string_view name) {
  return std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn);
}

Status CheckKind(const std::string& function, const InputSpec& spec, const StepInput& input) {
  Shape row = input.width == 1 ? Shape{} : Shape{input.width};
  if (spec.size == input.size && spec.row == row && spec.dtype == DType::kInt32) return Status();
  return Corrupt("'" + function + "' takes '" + spec.name +
                 "' with another shape or type than this engine gives; compile the model again")
      .WithParam("model_lib");
}

Status Unknown(const std::string& function, const std::string& name) {
  return Unsupported("'" + function + "' takes an input '" + name +
                     "', which this engine does not know; compile the model again with the "
                     "mlc_llm of this engine, or update the engine")
      .WithParam("model_lib");
}

}  // namespace

Result<BoundInputs> BoundInputs::Make(const std::string& function, std::vector<InputSpec> specs) {
  BoundInputs bound;
  bound.specs_ = std::move(specs);
  for (const InputSpec& spec : bound.specs_) {
    const StepInput* input = Find(spec.name);
    if (input == nullptr && !IsOwn(spec.name)) return Unknown(function, spec.name);
    if (input != nullptr) MLC_RETURN_IF_ERROR(CheckKind(function, spec, *input));
    bound.inputs_.push_back(input);
  }
  for (const StepInput& input : kStepInputs) {
    if (bound.index(input.name) >= 0) continue;
    if (input.always) {
      return Corrupt("'" + function + "' takes no input '" + input.name +
                     "', which every step has; compile the model again")
          .WithParam("model_lib");
    }
    if (input.name != std::string_view(kTokens)) bound.others_.push_back(&input);
  }
  bound.made_.resize(bound.specs_.size());
  bound.values_.resize(bound.specs_.size());
  return bound;
}

int BoundInputs::index(std::string_view name) const {
  auto found = std::find_if(specs_.begin(), specs_.end(),
                            [&](const InputSpec& spec) { return spec.name == name; });
  return found == specs_.end() ? -1 : static_cast<int>(found - specs_.begin());
}

const StepInput* BoundInputs::Surplus(const Batch& batch) const {
  auto found = std::find_if(others_.begin(), others_.end(), [&](const StepInput* input) {
    return !(batch.*input->values).empty();
  });
  return found == others_.end() ? nullptr : *found;
}

ProgramInput BoundInputs::ValueOf(const StepInput& input, const Batch& batch,
                                  std::vector<int32_t>* made) {
  const std::vector<int32_t>& given = batch.*input.values;
  bool has_default = input.copied != nullptr || input.unset.has_value();
  if (!given.empty() || !has_default) {
    return {given.data(), static_cast<int64_t>(given.size()) / input.width};
  }
  int64_t count = input.size == std::string_view("n") ? batch.num_rows() : batch.num_sequences();
  made->assign(static_cast<size_t>(count * input.width), input.unset.value_or(0));
  for (size_t i = 0; input.copied != nullptr && i < made->size(); ++i) {
    (*made)[i] = (batch.*input.copied)[i / static_cast<size_t>(input.width)];
  }
  return {made->data(), count};
}

Result<std::vector<ProgramInput>*> BoundInputs::Of(const Batch& batch) {
  if (const StepInput* input = Surplus(batch)) {
    return Unsupported(std::string("the model library takes no input '") + input->name +
                       "' of a step: " + input->description)
        .WithParam("model_lib");
  }
  for (size_t i = 0; i < specs_.size(); ++i) {
    values_[i] = {};
    if (inputs_[i] != nullptr) values_[i] = ValueOf(*inputs_[i], batch, &made_[i]);
  }
  return &values_;
}

}  // namespace mlc
