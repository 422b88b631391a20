// What the fake model refuses: steps that a real model would compute, and wrongly.
#include <algorithm>
#include <string>

#include "model/fake_model.h"

namespace mlc {

Status FakeModel::CheckAdapters(const Batch& batch) const {
  size_t num_units = batch.adapter_rows.size(), num_scales = batch.adapter_scales.size();
  if (batch.adapter_groups.size() != num_units || num_scales != num_units) return Internal("units");
  for (int32_t row : batch.adapter_rows) {
    if (row < 0 || row >= batch.num_rows()) return Internal("bad row with an adapter");
  }
  for (int32_t group : batch.adapter_groups) {
    if (group < 0 || group >= static_cast<int32_t>(adapters_.size())) return Internal("bad group");
  }
  return Status();
}

Status FakeModel::CheckBatch(const Batch& batch) const {
  if (!batch.hidden_rows.empty() && info_.hidden_size == 0) return Unsupported("no hidden states");
  if (batch.num_rows() > info_.prefill_chunk_size) return Internal("more rows than a chunk");
  if (batch.num_sequences() > info_.max_batch_size) return Internal("more sequences than a batch");
  if (batch.has_copies() && !info_.token_trees) return Unsupported("no token trees");
  size_t num_windowed = info_.has_windowed_pages() ? batch.tokens.size() : 0;
  if (batch.windowed_slots.size() != num_windowed) return Internal("bad windowed slots");
  for (size_t g = 0; g < info_.PageBytes().size(); ++g) {
    for (int32_t slot : g == 0 ? batch.slots : batch.windowed_slots) {
      if (slot < 0 || slot >= first_slots_[g + 1] - first_slots_[g]) return Internal("bad slot");
    }
  }
  MLC_RETURN_IF_ERROR(CheckStates(batch));
  size_t wanted_states = info_.takes_states ? batch.tokens.size() : 0;
  if (batch.target_states.size() != wanted_states) return Internal("not a state for each row");
  MLC_RETURN_IF_ERROR(CheckAdapters(batch));
  if (batch.embedding_rows.size() != batch.embeddings.size()) return Internal("bad embeddings");
  if (batch.token_types.size() > batch.tokens.size()) return Internal("types without rows");
  if (!batch.embedding_rows.empty() && info_.embedding_size == 0) return Unsupported("no rows");
  if (!batch.rotary.empty() && batch.rotary.size() != 3 * batch.tokens.size()) {
    return Internal("not as many rotary positions as rows");
  }
  for (size_t r = 1; r < batch.tokens.size(); ++r) {
    bool same = batch.row_sequence[r] == batch.row_sequence[r - 1];
    if (same && batch.positions[r] != batch.positions[r - 1] + 1)
      return Internal("rows not in order");
    if (!same && batch.row_sequence[r] <= batch.row_sequence[r - 1])
      return Internal("rows not adjacent");
  }
  MLC_RETURN_IF_ERROR(CheckLastSeen(batch));
  return info_.is_encoder ? CheckWholeTexts(batch) : Status();
}

// The rows that a row sees ahead are in this step.
Status FakeModel::CheckLastSeen(const Batch& batch) {
  if (batch.last_seen.empty()) return Status();
  if (batch.last_seen.size() != batch.tokens.size()) return Internal("not a last row for each row");
  for (size_t r = 0; r < batch.tokens.size(); ++r) {
    if (batch.last_seen[r] < batch.positions[r]) return Internal("a row does not see itself");
    size_t last = r + static_cast<size_t>(batch.last_seen[r] - batch.positions[r]);
    if (last >= batch.tokens.size() || batch.row_sequence[last] != batch.row_sequence[r]) {
      return Internal("a row sees a row that is not there");
    }
  }
  return Status();
}

// An encoder computes no logits, and the first row of each sequence is at position 0.
Status FakeModel::CheckWholeTexts(const Batch& batch) {
  if (!batch.logit_rows.empty()) return Unsupported("an encoder has no logits");
  for (size_t r = 0; r < batch.tokens.size(); ++r) {
    bool is_first = r == 0 || batch.row_sequence[r] != batch.row_sequence[r - 1];
    if (is_first && batch.positions[r] != 0) return Internal("not the whole text");
  }
  return Status();
}

Status FakeModel::CheckStates(const Batch& batch) const {
  int num_sequences = has_states() ? batch.num_sequences() : 0;
  if (static_cast<int>(batch.state_source.size()) != num_sequences) {
    return Internal("not as many states as sequences");
  }
  size_t num_writes = has_states() ? batch.tokens.size() : 0;
  if (batch.state_writes.size() != num_writes) return Internal("bad states");
  for (size_t i = 0; i < num_writes; ++i) {
    int32_t slot = batch.state_writes[i], sequence = batch.row_sequence[i];
    if (slot < 0) continue;
    for (size_t j = 0; j < i; ++j) {
      if (batch.state_writes[j] == slot) return Internal("a state is written twice");
    }
    for (int32_t other = 0; other < num_sequences; ++other) {
      if (other != sequence && batch.state_source[other] == slot) {
        return Internal("a state is written that another sequence reads");
      }
    }
  }
  return Status();
}

}  // namespace mlc
