#include "model/recorded_runner.h"

#include <iterator>
#include <utility>

#include "model/library_functions.h"

namespace mlc {
namespace {

// The program is for steps in which every sequence has one row, a token, and every row wants
// logits. It has no recurrent layers.
bool IsDecode(const Batch& batch) {
  return batch.num_rows() == batch.num_sequences() && !batch.has_copies() &&
         batch.logit_rows.size() == batch.tokens.size() && batch.embeddings.empty() &&
         batch.state_source.empty();
}

// Rounds up to a power of two. Recorded launches depend on the number of pages, so this number
// should rarely change between steps.
size_t PaddedPages(size_t num_pages) {
  size_t padded = 16;
  while (padded < num_pages) padded *= 2;
  return padded;
}

}  // namespace

RecordedRunner::RecordedRunner(std::unique_ptr<StepRunner> others,
                               std::unique_ptr<KernelProgram> decode)
    : others_(std::move(others)), decode_(std::move(decode)) {}

Result<std::unique_ptr<StepRunner>> RecordedRunner::Over(std::unique_ptr<StepRunner> others,
                                                         const ModelLibrary& library,
                                                         const LibraryMetadata& metadata,
                                                         const TensorList& params, Device device) {
  MLC_ASSIGN_OR_RETURN(
      std::unique_ptr<KernelProgram> decode,
      KernelProgram::Load(library, kDecodeTokens, params,
                          {metadata.layers.size(), metadata.states.size()}, device));
  if (decode == nullptr) return others;
  return std::unique_ptr<StepRunner>(new RecordedRunner(std::move(others), std::move(decode)));
}

void RecordedRunner::SetPages(const std::vector<Tensor>& layers) {
  others_->SetPages(layers);
  decode_->SetPages(layers);
}

void RecordedRunner::SetStates(const std::vector<Tensor>& states) {
  others_->SetStates(states);
  decode_->SetStates(states);
}

Result<Tensor> RecordedRunner::Logits(const Batch& batch) {
  if (!IsDecode(batch)) return others_->Logits(batch);
  padded_pages_ = batch.page_indices;
  padded_pages_.resize(PaddedPages(batch.page_indices.size()), -1);
  const ProgramInput inputs[] = {InputOf(batch.tokens),      InputOf(batch.positions),
                                 InputOf(batch.slots),       InputOf(batch.row_sequence),
                                 InputOf(batch.page_indptr), InputOf(padded_pages_),
                                 InputOf(batch.logit_rows)};
  return decode_->RunToTensor(inputs, std::size(inputs));
}

}  // namespace mlc
