#include "sampling/logits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

namespace mlc {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> Applied(const SamplingParams& params, const TokenCounts& counts,
                           std::vector<float> logits) {
  ApplyChanges(ChangesOf(params, counts, {}, static_cast<int>(logits.size())), logits.data());
  return logits;
}

TokenCounts CountsOf(const std::vector<int32_t>& tokens) {
  TokenCounts counts;
  for (int32_t token : tokens) counts.Add(token);
  return counts;
}

TEST(ApplyChanges, TheDefaultsChangeNothing) {
  std::vector<float> logits = {1, -2, 0, kInf, -kInf};
  EXPECT_EQ(Applied(SamplingParams(), CountsOf({0, 1, 1, 3}), logits), logits);
}

TEST(ApplyChanges, BiasIsAddedAndUnknownTokensAreIgnored) {
  SamplingParams params;
  params.logit_bias = {{0, 2.5f}, {2, -100.0f}, {-1, 9.0f}, {4, 9.0f}, {INT32_MAX, 9.0f}};
  EXPECT_EQ(Applied(params, TokenCounts(), {1, 1, 1, 1}), (std::vector<float>{3.5, 1, -99, 1}));
}

TEST(ApplyChanges, FrequencyCountsAndPresenceDoesNot) {
  SamplingParams params;
  params.frequency_penalty = 0.5;
  EXPECT_EQ(Applied(params, CountsOf({1, 2, 2, 2}), {1, 1, 1}), (std::vector<float>{1, 0.5, -0.5}));
  params.frequency_penalty = 0;
  params.presence_penalty = 0.25;
  EXPECT_EQ(Applied(params, CountsOf({1, 2, 2, 2}), {1, 1, 1}),
            (std::vector<float>{1, 0.75, 0.75}));
  params.presence_penalty = -0.25;
  EXPECT_EQ(Applied(params, CountsOf({1}), {1, 1}), (std::vector<float>{1, 1.25}));
}

TEST(ApplyChanges, RepetitionMakesBothSignsLessLikely) {
  SamplingParams params;
  params.repetition_penalty = 2;
  EXPECT_EQ(Applied(params, CountsOf({0, 1, 2, 3}), {4, -4, 0, -kInf, 4}),
            (std::vector<float>{2, -8, 0, -kInf, 4}));
}

TEST(ApplyChanges, ARepetitionNextToNoneMakesNoInfinity) {
  SamplingParams params;
  params.repetition_penalty = 5e-324;
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_EQ(Applied(params, CountsOf({0, 1, 2, 3}), {1, -2, 0, -kInf}),
            (std::vector<float>{kMost, 0, 0, -kInf}));
}

TEST(ApplyChanges, TheBiasIsPenalizedToo) {
  SamplingParams params;
  params.logit_bias = {{0, 4.0f}};
  params.repetition_penalty = 2;
  params.frequency_penalty = 1;
  EXPECT_EQ(Applied(params, CountsOf({0, 0}), {2}), (std::vector<float>{1}));  // (2 + 4) / 2 - 2
}

TEST(ApplyChanges, TokensBeyondTheLogitsAreIgnored) {
  SamplingParams params;
  params.frequency_penalty = 1;
  EXPECT_EQ(Applied(params, CountsOf({0, 7}), {1, 1}), (std::vector<float>{0, 1}));
}

TEST(ChangesOf, DrySubtractsBesideTheOthers) {
  SamplingParams params;
  params.dry_multiplier = 0.5;
  params.frequency_penalty = 1;
  std::vector<LogitChange> changes =
      ChangesOf(params, CountsOf({1, 2, 3, 1, 2}), {2, 1, 3, 2, 1}, 4);
  std::map<int32_t, float> penalties;
  for (const LogitChange& change : changes) penalties[change.token] = change.penalty;
  EXPECT_EQ(penalties, (std::map<int32_t, float>{{1, 2.0f}, {2, 2.0f}, {3, 1.5f}}));
  EXPECT_EQ(changes.size(), 3u);
}

TEST(Deviation, CountsWhatIsFinite) {
  std::vector<float> logits = {1, -kInf, 3, 5, 7};
  EXPECT_NEAR(Deviation(logits.data(), 5), std::sqrt(5.0), 1e-12);
  EXPECT_EQ(Deviation(logits.data() + 1, 1), 0);
}

TEST(KeepNearLargest, TheRestIsImpossible) {
  std::vector<float> logits = {1, -kInf, 3, 5, 7};
  KeepNearLargest(4, logits.data(), 5);
  EXPECT_EQ(logits, (std::vector<float>{-kInf, -kInf, 3, 5, 7}));
}

TEST(ApplyMask, KeepsExactlyTheTokensWithABit) {
  constexpr int kVocab = 70;
  std::vector<int32_t> mask(3, 0);
  for (int token : {0, 31, 32, 63, 69}) mask[token / 32] |= static_cast<int32_t>(1u << token % 32);
  std::vector<float> logits(kVocab, 1.0f);
  ApplyMask(mask, logits.data(), kVocab, logits.data());
  for (int token = 0; token < kVocab; ++token) {
    bool kept = token == 0 || token == 31 || token == 32 || token == 63 || token == 69;
    EXPECT_EQ(logits[token], kept ? 1.0f : -kInf) << token;
  }
}

TEST(ApplyMask, TokensBeyondTheMaskAreImpossible) {
  std::vector<float> logits(40, 1.0f), masked(40);
  ApplyMask({-1}, logits.data(), 40, masked.data());
  EXPECT_EQ(masked[31], 1.0f);
  EXPECT_EQ(masked[32], -kInf);
}

TEST(ApplyMask, DoesInAnotherRowWhatItDoesInPlace) {
  std::mt19937 random(1);
  for (int vocab : {1, 31, 32, 33, 64, 100, 1000}) {
    std::vector<int32_t> mask;
    for (int word = 0; word * 32 < vocab;
         ++word) {  // runs of full and empty words among mixed ones
      uint32_t kind = random() % 4;
      mask.push_back(kind == 0 ? -1 : kind == 1 ? static_cast<int32_t>(random()) : 0);
    }
    std::vector<float> logits(static_cast<size_t>(vocab)), masked(logits.size());
    for (float& logit : logits) logit = static_cast<float>(random() % 1000);
    ApplyMask(mask, logits.data(), vocab, masked.data());
    for (int token = 0; token < vocab; ++token) {
      bool kept = static_cast<uint32_t>(mask[token / 32]) >> (token % 32) & 1;
      ASSERT_EQ(masked[token], kept ? logits[token] : -kInf) << token << " of " << vocab;
    }
    ApplyMask(mask, logits.data(), vocab, logits.data());
    EXPECT_EQ(logits, masked);
  }
}

}  // namespace
}  // namespace mlc
