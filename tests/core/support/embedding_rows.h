// Embedding rows without a tower.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/prompt.h"

namespace mlc::testing {

// Rows of a fake model (embedding_size 4); others for each `seed`.
inline std::shared_ptr<const EmbeddingRows> Rows(int seed, int num_rows,
                                                 std::vector<RotaryPosition> positions = {}) {
  std::vector<float> values;
  for (int i = 0; i < 4 * num_rows; ++i) values.push_back(static_cast<float>(seed * 1000 + i));
  auto rows = EmbeddingRows::Make(std::move(values), 4, std::move(positions));
  MLC_ICHECK(rows.ok());
  return std::move(rows).value();
}

}  // namespace mlc::testing
