#include "sampling/row_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace mlc {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int kSizes[] = {1, 2, 15, 16, 17, 63, 64, 65, 1000, 1023, 1024, 1025, 5003};

std::vector<float> RandomRow(int size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> row(static_cast<size_t>(size));
  for (float& value : row) value = static_cast<float>(random() % 4000) / 100.0f - 20.0f;
  return row;
}

TEST(RowMath, MaxIsTheFirstOfTheLargest) {
  for (int size : kSizes) {
    std::vector<float> row = RandomRow(size, 1);
    RowMax max = MaxOfRow(row.data(), size);
    auto expected = std::max_element(row.begin(), row.end());
    EXPECT_EQ(max.value, *expected);
    EXPECT_EQ(max.index, expected - row.begin()) << size;
    std::fill(row.begin(), row.end(), -5.0f);
    EXPECT_EQ(MaxOfRow(row.data(), size).index, 0) << size;
    row.back() = -4.0f;
    EXPECT_EQ(MaxOfRow(row.data(), size).index, size - 1);
  }
}

TEST(RowMath, MaxSeesWhatIsNoNumber) {
  for (int size : kSizes) {
    for (int at : {0, size / 2, size - 1}) {
      std::vector<float> row = RandomRow(size, 2);
      row[static_cast<size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_EQ(MaxOfRow(row.data(), size).index, -1) << at << " of " << size;
    }
    std::vector<float> nothing(static_cast<size_t>(size), -kInf);
    EXPECT_EQ(MaxOfRow(nothing.data(), size).index, -1);
  }
}

TEST(RowMath, BlocksHaveTheirMaxima) {
  for (int size : kSizes) {
    std::vector<float> row = RandomRow(size, 3), out((size + kRowBlock - 1) / kRowBlock);
    BlockMax(row.data(), size, out.data());
    for (size_t block = 0; block < out.size(); ++block) {
      auto begin = row.begin() + block * kRowBlock;
      auto end = std::min(row.end(), begin + std::min<ptrdiff_t>(kRowBlock, row.end() - begin));
      EXPECT_EQ(out[block], *std::max_element(begin, end));
    }
  }
}

TEST(RowMath, ExpIsExact) {
  std::vector<float> row = RandomRow(5003, 4), weights(row.size());
  row[7] = -kInf;
  row[8] = -500;
  float max = *std::max_element(row.begin(), row.end());
  for (float scale : {0.5f, 1.0f, 2.0f}) {
    double sum = ExpOfRow(row.data(), 5003, max, scale, weights.data()), expected_sum = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      double expected = std::exp(double{(row[i] - max) * scale});
      EXPECT_NEAR(weights[i], expected, 2e-7 * expected + 1e-37) << row[i];
      expected_sum += expected;
    }
    EXPECT_NEAR(sum, expected_sum, 1e-6 * expected_sum);
    EXPECT_EQ(weights[7], 0);
    EXPECT_EQ(weights[8], 0);
  }
  ExpOfRow(&max, 1, max, 123.0f, weights.data());
  EXPECT_EQ(weights[0], 1);
}

TEST(RowMath, ExpMayWriteWhereItReads) {
  std::vector<float> row = RandomRow(1025, 5), weights(row.size());
  ExpOfRow(row.data(), 1025, 20, 1, weights.data());
  ExpOfRow(row.data(), 1025, 20, 1, row.data());
  EXPECT_EQ(row, weights);
}

TEST(RowMath, SplitCountsBothSides) {
  for (int size : kSizes) {
    std::vector<float> row = RandomRow(size, 6);
    for (float bound : {-30.0f, -3.0f, row[0], 19.0f, 30.0f}) {
      RowSplit split = SplitRow(row.data(), size, bound);
      double sum = 0;
      int count = 0;
      float least = kInf, next = -kInf;
      for (float value : row) {
        sum += value >= bound ? value : 0;
        count += value >= bound;
        if (value >= bound) least = std::min(least, value);
        if (value < bound) next = std::max(next, value);
      }
      EXPECT_NEAR(split.sum, sum, 1e-2);
      EXPECT_EQ(split.count, count);
      EXPECT_EQ(split.least, least);
      EXPECT_EQ(split.next, next);
    }
    EXPECT_NEAR(SumOfRow(row.data(), size), SplitRow(row.data(), size, -1e9f).sum, 1e-2);
  }
}

// To the bit: an answer must not depend on the processor's vectors.
TEST(RowMath, WideVectorsGiveWhatTheBaselineGives) {
  RowKernels baseline = BaselineKernels();
  for (int size : kSizes) {
    std::vector<float> row = RandomRow(size, 7), a(row.size()), b(row.size());
    EXPECT_EQ(MaxOfRow(row.data(), size).index, baseline.max(row.data(), size).index);
    EXPECT_EQ(ExpOfRow(row.data(), size, 20, 0.7f, a.data()),
              baseline.exp(row.data(), size, 20, 0.7f, b.data()));
    EXPECT_EQ(a, b);
    EXPECT_EQ(SumOfRow(row.data(), size), baseline.sum(row.data(), size));
    RowSplit split = SplitRow(row.data(), size, 1), other = baseline.split(row.data(), size, 1);
    EXPECT_EQ(split.sum, other.sum);
    EXPECT_EQ(split.count, other.count);
    EXPECT_EQ(split.least, other.least);
    EXPECT_EQ(split.next, other.next);
    BlockMax(row.data(), size, a.data());
    baseline.block_max(row.data(), size, b.data());
    EXPECT_EQ(a, b);
  }
}

}  // namespace
}  // namespace mlc
