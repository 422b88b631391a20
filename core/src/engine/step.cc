#include "engine/step.h"

namespace mlc {
namespace {

void AddRow(const StepItem& item, int row, int32_t sequence_in_batch, const KVCache& cache,
            Batch* batch) {
  const Sequence& sequence = *item.sequence;
  int position = sequence.num_computed + row;
  bool is_draft = row >= item.num_rows;
  batch->tokens.push_back(is_draft ? item.drafts[static_cast<size_t>(row - item.num_rows)]
                                   : sequence.tokens()[static_cast<size_t>(position)]);
  batch->positions.push_back(position);
  batch->slots.push_back(cache.Slot(sequence.id, position));
  batch->row_sequence.push_back(sequence_in_batch);
  bool is_followed = item.wants_logits && row >= item.num_rows - 1;
  if (is_followed) batch->logit_rows.push_back(batch->num_rows() - 1);
}

}  // namespace

Result<Batch> BuildBatch(const std::vector<StepItem>& items, KVCache* cache) {
  Batch batch;
  batch.page_indptr.push_back(0);
  for (const StepItem& item : items) {
    MLC_ICHECK(item.drafts.empty() || item.wants_logits);
    SequenceId id = item.sequence->id;
    int num_rows = item.num_rows + static_cast<int>(item.drafts.size());
    MLC_RETURN_IF_ERROR(cache->Append(id, num_rows));
    int32_t sequence_in_batch = batch.num_sequences();
    for (int row = 0; row < num_rows; ++row) {
      AddRow(item, row, sequence_in_batch, *cache, &batch);
    }
    const std::vector<int32_t>& pages = cache->Pages(id);
    batch.page_indices.insert(batch.page_indices.end(), pages.begin(), pages.end());
    batch.page_indptr.push_back(static_cast<int32_t>(batch.page_indices.size()));
  }
  return batch;
}

}  // namespace mlc
