// The states of a target's rows that a part which drafts reads.
#pragma once

#include <vector>

#include "model/model.h"

namespace mlc {

// The batch's `target_states` side by side, each of `size` numbers.
inline std::vector<float> GatherStates(const Batch& batch, int size) {
  std::vector<float> rows;
  rows.reserve(batch.target_states.size() * static_cast<size_t>(size));
  for (const float* row : batch.target_states) rows.insert(rows.end(), row, row + size);
  return rows;
}

}  // namespace mlc
