#include "base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace mlc {
namespace {

// The first outputs of SplitMix64 seeded with 0, from the reference implementation (Vigna,
// splitmix64.c): its n-th output is the finalizer of n increments.
TEST(Mix64, IsSplitMix64) {
  EXPECT_EQ(Mix64(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(Mix64(0x9e3779b97f4a7c15), 0x6e789e6aa1b965f4u);
}

TEST(UniformAt, IsAFunctionOfItsAddress) {
  EXPECT_EQ(UniformAt(1, 2), UniformAt(1, 2));
  std::set<double> seen;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    for (uint64_t index = 0; index < 30; ++index) seen.insert(UniformAt(seed, index));
  }
  EXPECT_EQ(seen.size(), 900u);
}

TEST(UniformAt, StaysBelowOne) {
  for (uint64_t seed : {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 63}) {
    for (uint64_t index : {uint64_t{0}, ~uint64_t{0}, ~seed}) {
      double uniform = UniformAt(seed, index);
      EXPECT_GE(uniform, 0.0);
      EXPECT_LT(uniform, 1.0);
    }
  }
}

// Pearson's statistic over 64 cells: its mean is 63 and its deviation 11.2.
double ChiSquare(const std::vector<int>& cells, int draws) {
  double expected = static_cast<double>(draws) / cells.size(), sum = 0;
  for (int count : cells) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(UniformAt, IsEvenAlongAStreamAndAcrossSeeds) {
  constexpr int kDraws = 64000;
  std::vector<int> along(64, 0), across(64, 0);
  for (int i = 0; i < kDraws; ++i) {
    ++along[static_cast<size_t>(UniformAt(42, i) * 64)];
    ++across[static_cast<size_t>(UniformAt(i, 0) * 64)];
  }
  EXPECT_LT(ChiSquare(along, kDraws), 63 + 5 * 11.2);
  EXPECT_LT(ChiSquare(across, kDraws), 63 + 5 * 11.2);
}

// Neighbouring seeds are the streams of one request's choices.
TEST(UniformAt, NeighbouringStreamsAreNotAlike) {
  constexpr int kDraws = 20000;
  double product = 0;
  for (int i = 0; i < kDraws; ++i) product += (UniformAt(7, i) - 0.5) * (UniformAt(8, i) - 0.5);
  double correlation = product / kDraws * 12;
  EXPECT_LT(std::abs(correlation), 5 / std::sqrt(kDraws));
}

}  // namespace
}  // namespace mlc
