#include "model/state_inputs.h"

namespace mlc {

void StateInputs::Set(const Batch& batch) {
  source_ = batch.state_source;
  row_indptr_.assign(static_cast<size_t>(batch.num_sequences()) + 1, 0);
  for (int32_t sequence : batch.row_sequence) ++row_indptr_[static_cast<size_t>(sequence) + 1];
  for (size_t s = 1; s < row_indptr_.size(); ++s) row_indptr_[s] += row_indptr_[s - 1];
  writes_.assign(batch.tokens.size(), -1);
  for (size_t i = 0; i < batch.state_rows.size(); ++i) {
    writes_[static_cast<size_t>(batch.state_rows[i])] = batch.state_slots[i];
  }
}

}  // namespace mlc
