#include "engine/step.h"

namespace mlc {
namespace {

RowSpan SpanOf(const StepItem& item) {
  const Sequence& sequence = *item.sequence;
  auto first = sequence.tokens().begin() + sequence.num_computed;
  RowSpan span{sequence.id, {first, first + item.num_rows}};
  span.tokens.insert(span.tokens.end(), item.drafts.begin(), item.drafts.end());
  if (item.wants_logits) span.num_logit_rows = 1 + static_cast<int>(item.drafts.size());
  span.num_hidden_rows = sequence.NumPooledRows(item.num_rows);
  return span;
}

}  // namespace

Status AddRows(const RowSpan& span, KVCache* cache, Batch* batch) {
  int num_rows = static_cast<int>(span.tokens.size());
  int first = cache->Length(span.sequence);
  MLC_RETURN_IF_ERROR(cache->Append(span.sequence, num_rows));
  if (batch->page_indptr.empty()) batch->page_indptr.push_back(0);
  int32_t sequence_in_batch = batch->num_sequences();
  for (int row = 0; row < num_rows; ++row) {
    int to_end = num_rows - row;
    if (to_end <= span.num_logit_rows) batch->logit_rows.push_back(batch->num_rows());
    if (to_end <= span.num_hidden_rows) batch->hidden_rows.push_back(batch->num_rows());
    batch->tokens.push_back(span.tokens[static_cast<size_t>(row)]);
    batch->positions.push_back(first + row);
    batch->slots.push_back(cache->Slot(span.sequence, first + row));
    batch->row_sequence.push_back(sequence_in_batch);
  }
  const std::vector<int32_t>& pages = cache->Pages(span.sequence);
  batch->page_indices.insert(batch->page_indices.end(), pages.begin(), pages.end());
  batch->page_indptr.push_back(static_cast<int32_t>(batch->page_indices.size()));
  return Status();
}

Result<Batch> BuildBatch(const std::vector<StepItem>& items, KVCache* cache) {
  Batch batch;
  for (const StepItem& item : items) {
    MLC_ICHECK(item.drafts.empty() || item.wants_logits);
    MLC_ICHECK(item.sequence->num_computed == cache->Length(item.sequence->id));
    MLC_RETURN_IF_ERROR(AddRows(SpanOf(item), cache, &batch));
  }
  return batch;
}

Result<Outputs> RunBatch(const Batch& batch, KVCache* cache, Model* model) {
  std::vector<int32_t> source, destination;
  for (const auto& [from, to] : cache->TakePendingCopies()) {
    source.push_back(from);
    destination.push_back(to);
  }
  if (!source.empty()) MLC_RETURN_IF_ERROR(model->CopyPages(source, destination));
  return model->Forward(batch);
}

}  // namespace mlc
