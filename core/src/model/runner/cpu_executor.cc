#include "model/runner/cpu_executor.h"

#include <cstring>

#include "model/runner/library_functions.h"
#include "model/target_states.h"

namespace mlc {

Result<std::unique_ptr<CpuExecutor>> CpuExecutor::Load(const ModelLibrary& library,
                                                       const LibraryMetadata& metadata,
                                                       const TensorList& params) {
  auto load = [&](const char* function) {
    auto found = metadata.functions.find(function);
    std::string name = found == metadata.functions.end() ? function : found->second.name;
    KernelProgram::Kept kept{metadata.layers.size(), metadata.states.size(),
                             metadata.adapter_tensors().size()};
    return KernelProgram::Load(library, name, params, kept, Device{});
  };
  std::unique_ptr<CpuExecutor> executor(new CpuExecutor());
  HeadNames head = HeadOf(metadata);
  MLC_ASSIGN_OR_RETURN(executor->head_, load(head.function));
  executor->head_result_ = head.result;
  if (metadata.functions.count(kStep) == 0) {  // heads alone
    return executor->head_ ? std::move(executor) : std::unique_ptr<CpuExecutor>();
  }
  MLC_ASSIGN_OR_RETURN(executor->embed_, load(kEmbed));
  if (!executor->embed_) return std::unique_ptr<CpuExecutor>();
  MLC_ASSIGN_OR_RETURN(executor->step_, load(kStep));
  bool needs_head = metadata.info.head_size > 0;
  if (!executor->step_ || (needs_head && !executor->head_)) {
    return Corrupt("has no programs of some functions").WithParam("model_lib");
  }
  MLC_ASSIGN_OR_RETURN(executor->inputs_, BoundInputs::Make(kStep, executor->step_->inputs()));
  executor->hidden_size_ = metadata.info.hidden_size;
  executor->embedding_bytes_ = sizeof(float) * static_cast<size_t>(metadata.info.embedding_size);
  return executor;
}

Result<StepTensors> CpuExecutor::Run(const Batch& batch) {
  MLC_ASSIGN_OR_RETURN(std::vector<ProgramInput> * values, inputs_.Of(batch));
  ProgramInput tokens = InputOf(batch.tokens);
  MLC_RETURN_IF_ERROR(embed_->Run(&tokens, 1));
  char* embeddings = embed_->data(kEmbeddings);
  for (size_t i = 0; i < batch.embeddings.size(); ++i) {
    size_t row = static_cast<size_t>(batch.embedding_rows[i]);
    std::memcpy(embeddings + row * embedding_bytes_, batch.embeddings[i], embedding_bytes_);
  }
  (*values)[static_cast<size_t>(inputs_.index(kEmbeddings))] = {embeddings, tokens.size};
  std::vector<float> states;
  if (int index = inputs_.index(kTargetStates); index >= 0) {
    states = GatherStates(batch, hidden_size_);
    (*values)[static_cast<size_t>(index)] = {states.data(), tokens.size};
  }
  MLC_RETURN_IF_ERROR(step_->Run(values->data(), values->size()));
  return TensorsOf(batch, step_.get());
}

Result<Tensor> CpuExecutor::RunHead(const float* vectors, int64_t count) {
  ProgramInput input{vectors, count};
  MLC_RETURN_IF_ERROR(head_->Run(&input, 1));
  return head_->tensor(head_result_);
}

}  // namespace mlc
