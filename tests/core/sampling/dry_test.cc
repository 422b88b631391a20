#include "sampling/dry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace mlc {
namespace {

SamplingParams Dry(int allowed_length = 2) {
  SamplingParams params;
  params.dry_multiplier = 1;
  params.dry_base = 2;
  params.dry_allowed_length = allowed_length;
  return params;
}

std::map<int32_t, float> Penalties(const SamplingParams& params, std::vector<int32_t> tokens) {
  std::reverse(tokens.begin(), tokens.end());
  auto found = DryPenalties(params, tokens);
  return {found.begin(), found.end()};
}

using Found = std::map<int32_t, float>;

TEST(DryPenalties, WhatWouldGoOnIsPenalized) {
  EXPECT_EQ(Penalties(Dry(), {1, 2, 3, 9, 1, 2}), (Found{{3, 1}}));
  EXPECT_EQ(Penalties(Dry(), {1, 2, 3, 4, 9, 1, 2, 3}), (Found{{4, 2}}));
  EXPECT_EQ(Penalties(Dry(), {2, 3, 9, 2}), (Found{}));
  EXPECT_EQ(Penalties(Dry(1), {2, 3, 9, 2}), (Found{{3, 1}}));
  EXPECT_EQ(Penalties(Dry(), {}), (Found{}));
}

TEST(DryPenalties, TheLongestRepetitionOfATokenCounts) {
  EXPECT_EQ(Penalties(Dry(), {2, 3, 7, 1, 2, 3, 7, 0, 1, 2, 3}), (Found{{7, 2}}));
  EXPECT_EQ(Penalties(Dry(1), {3, 5, 2, 3, 6, 2, 3}), (Found{{5, 1}, {6, 2}}));
}

TEST(DryPenalties, RepetitionsMayOverlap) {
  EXPECT_EQ(Penalties(Dry(), {5, 5, 5, 5, 5}), (Found{{5, 4}}));
  EXPECT_EQ(Penalties(Dry(), {1, 2, 1, 2, 1, 2}), (Found{{1, 4}}));
}

TEST(DryPenalties, ABreakerEndsARepetition) {
  SamplingParams params = Dry();
  params.dry_breakers = std::make_shared<std::vector<bool>>(std::vector<bool>{true, false, true});
  EXPECT_EQ(Penalties(params, {3, 1, 5, 3, 1}), (Found{{5, 1}}));
  EXPECT_EQ(Penalties(params, {3, 2, 1, 5, 3, 2, 1}), (Found{}));  // only the 1 is behind it
  EXPECT_EQ(Penalties(params, {3, 1, 2, 3, 1}), (Found{}));        // it is not penalized
  EXPECT_EQ(Penalties(params, {3, 1, 2, 9, 3, 1, 2}), (Found{}));
}

TEST(DryPenalties, OnlyTheLastTokensAreRead) {
  SamplingParams params = Dry();
  params.dry_penalty_last_n = 5;
  EXPECT_EQ(Penalties(params, {1, 2, 3, 1, 2}), (Found{{3, 1}}));
  EXPECT_EQ(Penalties(params, {1, 2, 3, 9, 1, 2}), (Found{}));
}

TEST(DryPenalties, ALongRepetitionStaysFinite) {
  SamplingParams params = Dry();
  params.dry_base = 100;
  std::vector<int32_t> tokens(4000, 5);
  EXPECT_EQ(Penalties(params, tokens), (Found{{5, 1e6f}}));
}

TEST(DryPenalties, IsWhatACompleteSearchFinds) {
  std::mt19937 random(7);
  SamplingParams params = Dry(1);
  params.dry_breakers = std::make_shared<std::vector<bool>>(std::vector<bool>{true});
  for (int round = 0; round < 300; ++round) {
    std::vector<int32_t> tokens(random() % 40);
    for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 4);
    std::map<int32_t, int> longest;
    int size = static_cast<int>(tokens.size());
    for (int next = 1; next < size; ++next) {
      int length = 0;
      while (length < next && tokens[next - 1 - length] == tokens[size - 1 - length] &&
             tokens[next - 1 - length] != 0) {
        ++length;
      }
      if (length > 0 && tokens[next] != 0) {
        longest[tokens[next]] = std::max(longest[tokens[next]], length);
      }
    }
    Found wanted;
    for (auto [token, length] : longest) {
      wanted[token] = static_cast<float>(std::min(1e6, std::pow(2.0, length - 1)));
    }
    EXPECT_EQ(Penalties(params, tokens), wanted);
  }
}

}  // namespace
}  // namespace mlc
