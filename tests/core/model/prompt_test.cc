#include "model/prompt.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/embedding_rows.h"

namespace mlc {
namespace {

using testing::Rows;

TEST(Prompt, SpansFollowOneAnother) {
  Prompt prompt({1, 2});
  prompt.Append({3});
  prompt.Append(Rows(1, 2));
  prompt.Append(Rows(2, 1));
  prompt.Append({4, 5});
  EXPECT_EQ(prompt.size(), 8);
  ASSERT_EQ(prompt.spans().size(), 4u) << "tokens behind tokens are one span";
  EXPECT_EQ(prompt.spans()[0].tokens, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(prompt.spans()[3].begin, 6);
  EXPECT_TRUE(prompt.has_rows());
  for (int index : {0, 2, 6, 7, 8, 100}) EXPECT_EQ(prompt.RowAt(index), nullptr) << index;
  EXPECT_EQ(prompt.RowAt(3)[0], 1000.0f);
  EXPECT_EQ(prompt.RowAt(4)[0], 1004.0f);
  EXPECT_EQ(prompt.RowAt(5)[0], 2000.0f);
  Prompt nothing;
  nothing.Append(std::vector<int32_t>{});
  EXPECT_TRUE(nothing.empty());
  EXPECT_TRUE(nothing.spans().empty());
}

TEST(Prompt, PositionsOfRowsMoveWhatFollows) {
  Prompt prompt({1, 2, 3});
  prompt.Append(Rows(1, 4, {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 1}}));  // two by two
  prompt.Append({4});
  EXPECT_TRUE(prompt.has_positions());
  EXPECT_EQ(prompt.RotaryAt(2), (RotaryPosition{2, 2, 2}));
  EXPECT_EQ(prompt.RotaryAt(4), (RotaryPosition{3, 3, 4}));
  EXPECT_EQ(prompt.RotaryAt(7), (RotaryPosition{5, 5, 5})) << "behind the largest";
  EXPECT_EQ(prompt.RotaryAt(9), (RotaryPosition{7, 7, 7})) << "of what is generated";
  Prompt plain({1});
  plain.Append(Rows(1, 4));
  plain.Append({4});
  EXPECT_FALSE(plain.has_positions());
  for (int i = 0; i < 9; ++i) EXPECT_EQ(plain.RotaryAt(i), (RotaryPosition{i, i, i}));
}

TEST(Prompt, RowsAreAlikeWhenValuesAndPositionsAre) {
  EXPECT_EQ(Rows(1, 2)->hash(), Rows(1, 2)->hash());
  EXPECT_NE(Rows(1, 2)->hash(), Rows(2, 2)->hash());
  EXPECT_NE(Rows(1, 2)->hash(), Rows(1, 3)->hash());
  EXPECT_NE(Rows(1, 2)->hash(), Rows(1, 2, {{0, 0, 0}, {0, 1, 0}})->hash());
  EXPECT_NE((*EmbeddingRows::Make({1, 2, 3, 4}, 2))->hash(),
            (*EmbeddingRows::Make({1, 2, 3, 4}, 4))->hash());
  Prompt a({1}), b({1}), c({1});
  a.Append(Rows(1, 2));
  b.Append(Rows(1, 2));
  c.Append(Rows(2, 2));
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == c);
}

TEST(Prompt, BadRowsAreRefused) {
  EXPECT_FALSE(EmbeddingRows::Make({}, 4).ok());
  EXPECT_FALSE(EmbeddingRows::Make({1, 2, 3}, 2).ok());
  EXPECT_FALSE(EmbeddingRows::Make({1, 2}, 0).ok());
  EXPECT_FALSE(EmbeddingRows::Make({1, NAN}, 2).ok());
  EXPECT_FALSE(EmbeddingRows::Make({1, 2}, 1, {{0, 0, 0}}).ok()) << "one position, two rows";
  EXPECT_FALSE(EmbeddingRows::Make({1}, 1, {{0, -1, 0}}).ok());
  EXPECT_FALSE(EmbeddingRows::Make({1}, 1, {{1 << 30, 0, 0}}).ok());
}

}  // namespace
}  // namespace mlc
