#include "model/runner/recorded_executor.h"

#include <utility>

#include "model/runner/library_functions.h"

namespace mlc {
namespace {

// Rounds up to a power of two. Recorded launches depend on the number of pages, so this number
// should rarely change between steps.
size_t PaddedPages(size_t num_pages) {
  size_t padded = 16;
  while (padded < num_pages) padded *= 2;
  return padded;
}

}  // namespace

RecordedExecutor::RecordedExecutor(std::unique_ptr<StepExecutor> others,
                                   std::unique_ptr<KernelProgram> decode, BoundInputs inputs)
    : others_(std::move(others)), decode_(std::move(decode)), inputs_(std::move(inputs)) {}

Result<std::unique_ptr<StepExecutor>> RecordedExecutor::Over(std::unique_ptr<StepExecutor> others,
                                                             const ModelLibrary& library,
                                                             const LibraryMetadata& metadata,
                                                             const TensorList& params,
                                                             Device device) {
  MLC_ASSIGN_OR_RETURN(
      std::unique_ptr<KernelProgram> decode,
      KernelProgram::Load(library, kDecodeTokens, params,
                          {metadata.layers.size(), metadata.states.size()}, device));
  if (decode == nullptr) return others;
  MLC_ASSIGN_OR_RETURN(BoundInputs inputs, BoundInputs::Make(kDecodeTokens, decode->inputs()));
  return std::unique_ptr<StepExecutor>(
      new RecordedExecutor(std::move(others), std::move(decode), std::move(inputs)));
}

void RecordedExecutor::SetPages(const std::vector<Tensor>& layers) {
  others_->SetPages(layers);
  decode_->SetPages(layers);
}

void RecordedExecutor::SetStates(const std::vector<Tensor>& states) {
  others_->SetStates(states);
  decode_->SetStates(states);
}

bool RecordedExecutor::IsDecode(const Batch& batch) const {
  return batch.num_rows() == batch.num_sequences() &&
         batch.logit_rows.size() == batch.tokens.size() && batch.embeddings.empty() &&
         inputs_.Takes(batch);
}

Result<StepTensors> RecordedExecutor::Run(const Batch& batch) {
  if (!IsDecode(batch)) return others_->Run(batch);
  MLC_ASSIGN_OR_RETURN(std::vector<ProgramInput> * values, inputs_.Of(batch));
  auto pad = [&](std::string_view name, const std::vector<int32_t>& pages,
                 std::vector<int32_t>* padded) {
    int index = inputs_.index(name);
    if (index < 0) return;
    *padded = pages;
    padded->resize(PaddedPages(pages.size()), -1);
    (*values)[static_cast<size_t>(index)] = InputOf(*padded);
  };
  pad(kPageIndices, batch.page_indices, &padded_pages_);
  pad(kWindowedIndices, batch.windowed_indices, &padded_windowed_);
  MLC_RETURN_IF_ERROR(decode_->Run(values->data(), values->size()));
  return TensorsOf(batch, decode_.get());
}

}  // namespace mlc
