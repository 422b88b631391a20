#include "model/state_inputs.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

using Ints = std::vector<int32_t>;

TEST(StateInputs, SayOfEachSequenceItsRowsAndOfEachRowItsSlot) {
  Batch batch;
  batch.tokens = {7, 7, 7, 7, 7, 7};
  batch.row_sequence = {0, 0, 0, 1, 2, 2};
  batch.page_indptr = {0, 1, 2, 3};
  batch.state_source = {4, -1, 2};
  batch.state_rows = {1, 2, 3, 5};
  batch.state_slots = {9, 4, 0, 3};
  StateInputs inputs;
  for (int run = 0; run < 2; ++run) {  // nothing is left over of the run before
    inputs.Set(batch);
    auto [source, indptr, writes] = inputs.parts();
    EXPECT_EQ(*source, (Ints{4, -1, 2}));
    EXPECT_EQ(*indptr, (Ints{0, 3, 4, 6}));
    EXPECT_EQ(*writes, (Ints{-1, 9, 4, 0, -1, 3}));
  }
}

}  // namespace
}  // namespace mlc
