#include "engine/step.h"

#include <algorithm>

#include "engine/branches.h"

namespace mlc {
namespace {

RowSpan SpanOf(const StepItem& item) {
  const Sequence& sequence = *item.sequence;
  auto first = sequence.tokens().begin() + sequence.num_computed;
  RowSpan span{sequence.id, {first, first + item.num_rows}};
  int num_drafts = item.drafts.FirstChain();
  const std::vector<int32_t>& drafts = item.drafts.tokens();
  span.tokens.insert(span.tokens.end(), drafts.begin(), drafts.begin() + num_drafts);
  if (item.wants_logits) span.num_logit_rows = 1 + num_drafts;
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
    int first_row = batch.num_rows();
    MLC_RETURN_IF_ERROR(AddRows(SpanOf(item), cache, &batch));
    MLC_RETURN_IF_ERROR(AddBranches(item, first_row, cache, &batch));
  }
  return batch;
}

Result<Outputs> RunBatch(const Batch& batch, KVCache* cache, Model* model) {
  std::vector<int32_t> source, destination;
  auto copy = [&]() -> Status {
    if (source.empty()) return Status();
    MLC_RETURN_IF_ERROR(model->CopyPages(source, destination));
    source.clear();
    destination.clear();
    return Status();
  };
  auto is_in = [](const std::vector<int32_t>& pages, int32_t page) {
    return std::find(pages.begin(), pages.end(), page) != pages.end();
  };
  for (const auto& [from, to] : cache->TakePendingCopies()) {
    // What a device copies side by side may not depend on one another.
    if (is_in(destination, from) || is_in(source, to) || is_in(destination, to)) {
      MLC_RETURN_IF_ERROR(copy());
    }
    source.push_back(from);
    destination.push_back(to);
  }
  MLC_RETURN_IF_ERROR(copy());
  return model->Forward(batch);
}

}  // namespace mlc
