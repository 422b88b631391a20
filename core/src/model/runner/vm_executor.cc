#include "model/runner/vm_executor.h"

#include <string>
#include <utility>

#include "model/runner/library_functions.h"
#include "model/target_states.h"

namespace mlc {
namespace {

Status CheckShape(const Tensor& tensor, const Shape& expected) {
  if (tensor.shape() == expected && tensor.dtype() == DType::kFloat32) return Status();
  return Internal("the model returned a " + std::string(DTypeName(tensor.dtype())) +
                  " tensor of shape " + ShapeText(tensor.shape()) + " instead of float32 " +
                  ShapeText(expected));
}

}  // namespace

VmExecutor::VmExecutor(ModelLibrary* library, const LibraryMetadata& metadata, TensorList params,
                       Device device)
    : info_(metadata.info), params_(std::move(params)), device_(device) {
  auto find = [&](const char* name, std::optional<LibraryCall>* call) {
    auto found = metadata.functions.find(name);
    if (found != metadata.functions.end()) call->emplace(library, found->second);
  };
  find(kEmbed, &embed_);
  find(kStep, &step_);
  find(HeadOf(metadata).function, &head_);
}

Result<std::unique_ptr<VmExecutor>> VmExecutor::Load(ModelLibrary* library,
                                                     const LibraryMetadata& metadata,
                                                     const TensorList& params, Device device) {
  std::unique_ptr<VmExecutor> executor(new VmExecutor(library, metadata, params, device));
  if (!executor->step_) return executor;  // heads alone
  const std::vector<InputSpec>& inputs = executor->step_->spec().inputs;
  MLC_ASSIGN_OR_RETURN(executor->inputs_, BoundInputs::Make(kStep, inputs));
  return executor;
}

Result<Tensor> VmExecutor::Embed(const Batch& batch) {
  MLC_ASSIGN_OR_RETURN(Tensor tokens,
                       OnDevice(batch.tokens.data(), batch.num_rows(), {}, DType::kInt32, device_));
  MLC_ASSIGN_OR_RETURN(std::vector<Tensor> made,
                       (*embed_)({{kTokens, tokens}, {kParams, params_}}));
  Tensor& embeddings = made[0];
  if (batch.embeddings.empty()) return embeddings;
  int64_t row_bytes = embeddings.bytes() / batch.num_rows();
  for (size_t i = 0; i < batch.embeddings.size(); ++i) {
    int64_t offset = batch.embedding_rows[i] * row_bytes;
    MLC_RETURN_IF_ERROR(embeddings.Write(offset, batch.embeddings[i], row_bytes));
  }
  return embeddings;
}

Result<StepTensors> VmExecutor::Run(const Batch& batch) {
  MLC_ASSIGN_OR_RETURN(std::vector<ProgramInput> * values, inputs_.Of(batch));
  MLC_ASSIGN_OR_RETURN(Tensor embeddings, Embed(batch));
  std::vector<NamedArgument> arguments = {{kEmbeddings, embeddings},
                                          {kPages, pages_},
                                          {kStates, states_},
                                          {kAdapterWeights, adapters_},
                                          {kParams, params_}};
  std::vector<float> states;
  if (int index = inputs_.index(kTargetStates); index >= 0) {
    states = GatherStates(batch, info_.hidden_size);
    (*values)[static_cast<size_t>(index)] = {states.data(), batch.num_rows()};
  }
  for (size_t i = 0; i < values->size(); ++i) {
    const InputSpec& spec = inputs_.specs()[i];
    const ProgramInput& value = (*values)[i];
    if (spec.name == kEmbeddings || spec.size.empty()) continue;
    MLC_ASSIGN_OR_RETURN(Tensor tensor,
                         OnDevice(value.data, value.size, spec.row, spec.dtype, device_));
    arguments.emplace_back(spec.name, std::move(tensor));
  }
  MLC_ASSIGN_OR_RETURN(std::vector<Tensor> made, (*step_)(arguments));
  StepTensors found;
  int64_t hidden = info_.hidden_size, num_hidden = static_cast<int64_t>(batch.hidden_rows.size());
  for (size_t i = 0; i < made.size(); ++i) {
    const std::string& name = step_->spec().results[i];
    if (name == kLogits) {
      found.logits = made[i];
      Shape expected = {static_cast<int64_t>(batch.logit_rows.size()), info_.vocab_size};
      MLC_RETURN_IF_ERROR(CheckShape(made[i], expected));
    } else if (name == kHiddenStates) {
      found.hidden_states = made[i];
      MLC_RETURN_IF_ERROR(CheckShape(made[i], {num_hidden, hidden}));
    } else if (name == kLayerStates) {
      found.layer_states = made[i];
      MLC_RETURN_IF_ERROR(CheckShape(made[i], {num_hidden, info_.num_chosen_layers * hidden}));
    }
  }
  return found;
}

Result<Tensor> VmExecutor::RunHead(const float* vectors, int64_t count) {
  MLC_ASSIGN_OR_RETURN(Tensor rows,
                       OnDevice(vectors, count, {info_.state_size()}, DType::kFloat32, device_));
  MLC_ASSIGN_OR_RETURN(std::vector<Tensor> made, (*head_)({{kVectors, rows}, {kParams, params_}}));
  MLC_RETURN_IF_ERROR(CheckShape(made[0], {count, info_.head_size}));
  return made[0];
}

}  // namespace mlc
