#include "model/late_rows.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "model/prompt.h"

namespace mlc {
namespace {

// Gives one row of two numbers a turn.
class Counting : public RowMaker {
 public:
  explicit Counting(float first, int rows = 1) : next_(first), rows_(rows) {}
  Status Next(std::vector<float>* values) override {
    for (int i = 0; i < 2 * rows_; ++i) values->push_back(next_++);
    return Status();
  }

 private:
  float next_;
  int rows_;
};

std::shared_ptr<LateRows> Make(int num_rows, std::unique_ptr<RowMaker> maker) {
  return std::make_shared<LateRows>(HashContent("cat"), num_rows, 2, std::move(maker));
}

TEST(LateRows, ValuesComeInTurns) {
  std::shared_ptr<LateRows> late = Make(2, std::make_unique<Counting>(1.0f));
  auto last = *EmbeddingRows::Late(late, 1, 1);
  EXPECT_EQ(last->awaited(), late.get());
  EXPECT_EQ(last->row(0), nullptr);
  ASSERT_TRUE(late->Advance().ok());
  EXPECT_FALSE(late->is_ready());
  ASSERT_TRUE(late->Advance().ok());
  EXPECT_EQ(*late->values(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(last->awaited(), nullptr);
  EXPECT_EQ(last->row(0)[1], 4);
}

TEST(LateRows, ATurnMayGiveNoRows) {
  std::shared_ptr<LateRows> late = Make(1, std::make_unique<Counting>(1.0f, 0));
  EXPECT_FALSE(late->has_begun());
  ASSERT_TRUE(late->Advance().ok());
  EXPECT_TRUE(late->has_begun());
  EXPECT_FALSE(late->is_ready());
}

TEST(LateRows, WhatIsSharedIsNotMadeAgain) {
  std::shared_ptr<LateRows> late = Make(1, std::make_unique<Counting>(1.0f));
  auto values = std::make_shared<const std::vector<float>>(std::vector<float>{7, 8});
  late->Take(values);
  EXPECT_EQ((*EmbeddingRows::Late(late, 0, 1))->row(0), values->data());
}

TEST(LateRows, RowsThatAreNotAsPlannedAreErrors) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Make(1, std::make_unique<Counting>(nan))->Advance().code(), StatusCode::kInternal);
  EXPECT_EQ(Make(1, std::make_unique<Counting>(1.0f, 2))->Advance().code(), StatusCode::kInternal);
}

// The hash is known before the values, and says all that decides what a model computes of a span.
TEST(LateRows, TheHashSaysWhichRowsTheyAre) {
  auto hash = [](int first, int num_rows, bool see_each_other, const char* key,
                 std::vector<RotaryPosition> positions = {}) {
    auto late = std::make_shared<LateRows>(HashContent(key), 4, 2, nullptr);
    return (*EmbeddingRows::Late(late, first, num_rows, see_each_other, std::move(positions)))
        ->hash();
  };
  ContentHash cat = hash(0, 2, false, "cat");
  EXPECT_EQ(hash(0, 2, false, "cat"), cat);
  EXPECT_NE(hash(0, 2, false, "dog"), cat);
  EXPECT_NE(hash(1, 2, false, "cat"), cat);
  EXPECT_NE(hash(0, 3, false, "cat"), cat);
  EXPECT_NE(hash(0, 2, true, "cat"), cat);
  EXPECT_NE(hash(0, 2, false, "cat", {{0, 0, 0}, {0, 0, 1}}), cat);
}

}  // namespace
}  // namespace mlc
