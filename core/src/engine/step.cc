#include "engine/step.h"

namespace mlc {
namespace {

void AddRows(const StepItem& item, int32_t sequence_in_batch, const KVCache& cache, Batch* batch) {
  const Sequence& sequence = *item.sequence;
  for (int i = 0; i < item.num_rows; ++i) {
    int position = sequence.num_computed + i;
    batch->tokens.push_back(sequence.tokens()[position]);
    batch->positions.push_back(position);
    batch->slots.push_back(cache.Slot(sequence.id, position));
    batch->row_sequence.push_back(sequence_in_batch);
  }
  if (item.wants_logits) batch->logit_rows.push_back(batch->num_rows() - 1);
}

}  // namespace

Result<Batch> BuildBatch(const std::vector<StepItem>& items, KVCache* cache) {
  Batch batch;
  batch.page_indptr.push_back(0);
  for (const StepItem& item : items) {
    SequenceId id = item.sequence->id;
    MLC_RETURN_IF_ERROR(cache->Append(id, item.num_rows));
    AddRows(item, batch.num_sequences(), *cache, &batch);
    const std::vector<int32_t>& pages = cache->Pages(id);
    batch.page_indices.insert(batch.page_indices.end(), pages.begin(), pages.end());
    batch.page_indptr.push_back(static_cast<int32_t>(batch.page_indices.size()));
  }
  return batch;
}

}  // namespace mlc
