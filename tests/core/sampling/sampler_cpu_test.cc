#include "sampling/sampler_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "base/rng.h"

namespace mlc {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Result<int32_t> Sample(const SamplingParams& params, const std::vector<float>& logits, double u) {
  static SamplerScratch scratch;  // used again by all: what an earlier row left must not matter
  return SampleToken(params, logits.data(), static_cast<int>(logits.size()), u, &scratch);
}

// The probabilities that the filters leave, straight from their definitions.
std::vector<double> Reference(const SamplingParams& params, const std::vector<float>& logits) {
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
  std::vector<double> weight(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    weight[i] = std::exp((double{logits[i]} - logits[order[0]]) / params.temperature);
  }
  size_t kept = order.size();
  if (params.top_k > 0) kept = std::min(kept, static_cast<size_t>(params.top_k));
  double total = 0, sum = 0;
  for (size_t i = 0; i < kept; ++i) total += weight[order[i]];
  for (size_t i = 0; i < kept; ++i) {
    sum += weight[order[i]];
    if (params.top_p < 1 && sum >= params.top_p * total) kept = i + 1;
  }
  while (kept > 1 && weight[order[kept - 1]] < params.min_p) --kept;
  std::vector<double> probability(logits.size(), 0.0);
  total = 0;
  for (size_t i = 0; i < kept; ++i) total += weight[order[i]];
  for (size_t i = 0; i < kept; ++i) probability[order[i]] = weight[order[i]] / total;
  if (params.xtc_probability < 1) return probability;
  double least = 2, left = 0;
  for (double p : probability) least = p >= params.xtc_threshold ? std::min(least, p) : least;
  for (double& p : probability) {
    if (p > least + 1e-9) p = 0;
    left += p;
  }
  for (double& p : probability) p /= left;
  return probability;
}

std::vector<float> RandomLogits(std::mt19937* random, int vocab_size) {
  std::vector<float> logits(static_cast<size_t>(vocab_size));
  for (float& logit : logits) logit = static_cast<float>((*random)() % 1000) / 100.0f;
  return logits;
}

SamplingParams RandomParams(std::mt19937* random) {
  SamplingParams params;
  params.temperature = 0.2 + (*random)() % 30 / 10.0;
  if ((*random)() % 2) params.top_k = static_cast<int>((*random)() % 300);
  if ((*random)() % 2) params.top_p = 0.001 + (*random)() % 999 / 1000.0;
  if ((*random)() % 2) params.min_p = (*random)() % 1000 / 1000.0;
  if ((*random)() % 2) {
    params.xtc_probability = 1;
    params.xtc_threshold = (*random)() % 500 / 1000.0;
  }
  return params;
}

TEST(SampleToken, GreedyTakesTheLowestOfEqualTokens) {
  SamplingParams params;
  params.temperature = 0;
  for (double u : {0.0, 0.5, 0.999999}) {
    EXPECT_EQ(*Sample(params, {1, 3, 3, 2}, u), 1);
    EXPECT_EQ(*Sample(params, {-kInf, -5, -kInf, -5}, u), 1);
    EXPECT_EQ(*Sample(params, {0, 0}, u), 0);
  }
  params.temperature = 1;
  params.top_k = 1;
  EXPECT_EQ(*Sample(params, {1, 3, 3, 2}, 0.999), 1);
}

TEST(SampleToken, RefusesWhatIsNoDistribution) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (double temperature : {0.0, 1.0}) {
    SamplingParams params;
    params.temperature = temperature;
    for (const std::vector<float>& logits : std::vector<std::vector<float>>{
             {nan, 1, 2}, {1, nan, 2}, {1, 2, nan}, {-kInf, -kInf}, {1, kInf}, {nan}}) {
      Result<int32_t> token = Sample(params, logits, 0.5);
      ASSERT_FALSE(token.ok());
      EXPECT_EQ(token.status().code(), StatusCode::kInternal);
    }
  }
}

TEST(SampleToken, AnImpossibleTokenIsNeverTaken) {
  SamplingParams params;
  params.temperature = 2;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*Sample(params, {-kInf, 1, -kInf}, i / 100.0), 1);
}

TEST(SampleToken, ATinyTopPStillLeavesTheLikeliest) {
  SamplingParams params;
  params.top_p = 1e-12;
  for (double u : {0.0, 0.9999}) EXPECT_EQ(*Sample(params, {1, 2, 1.5}, u), 1);
}

TEST(SampleToken, FiltersLeaveTheSetsOfTheirDefinitions) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    std::vector<float> logits = RandomLogits(&random, 1 + static_cast<int>(random() % 400));
    SamplingParams params = RandomParams(&random);
    std::vector<double> expected = Reference(params, logits);
    // Walking u through [0, 1) visits the kept tokens in the order of ids, each as long as its
    // probability.
    std::vector<double> edge(expected.size());
    std::partial_sum(expected.begin(), expected.end(), edge.begin());
    for (size_t token = 0; token < expected.size(); ++token) {
      if (expected[token] < 1e-5) continue;  // weights are floats
      double middle = edge[token] - expected[token] / 2;
      ASSERT_EQ(*Sample(params, logits, middle), static_cast<int32_t>(token))
          << "round " << round << " k " << params.top_k << " p " << params.top_p << " min_p "
          << params.min_p;
    }
  }
}

TEST(SampleToken, FrequenciesFollowTheProbabilities) {
  std::mt19937 random(2);
  for (uint64_t round = 0; round < 8; ++round) {
    std::vector<float> logits = RandomLogits(&random, 24);
    SamplingParams params = RandomParams(&random);
    params.temperature = 2 + static_cast<double>(round);
    std::vector<double> expected = Reference(params, logits);
    constexpr int kDraws = 8000;
    std::vector<int> count(logits.size(), 0);
    for (uint64_t i = 0; i < kDraws; ++i) ++count[*Sample(params, logits, UniformAt(round, i))];
    double statistic = 0;
    int cells = 0;
    for (size_t token = 0; token < count.size(); ++token) {
      double mean = expected[token] * kDraws;
      if (expected[token] == 0) {
        ASSERT_EQ(count[token], 0) << token;
      }
      if (mean < 5) continue;  // too few for the approximation
      statistic += (count[token] - mean) * (count[token] - mean) / mean;
      ++cells;
    }
    EXPECT_LT(statistic, cells + 5 * std::sqrt(2.0 * cells) + 5) << "round " << round;
  }
}

TEST(SampleToken, XtcExcludesAllButTheLastOfTheLikeliest) {
  SamplingParams params;
  params.xtc_probability = 1;
  std::vector<float> logits = {0, 3, 2.9f, -1, 2.8f};  // 0.02, 0.36, 0.32, 0.01, 0.29
  std::set<int32_t> seen;
  for (double u = 0; u < 1; u += 0.001) seen.insert(*Sample(params, logits, u));
  EXPECT_EQ(seen, (std::set<int32_t>{0, 3, 4}));
  params.xtc_threshold = 0.6;  // none is that likely
  seen.clear();
  for (double u = 0; u < 1; u += 0.001) seen.insert(*Sample(params, logits, u));
  EXPECT_EQ(seen, (std::set<int32_t>{0, 1, 2, 3, 4}));
  params.temperature = 0;
  params.xtc_threshold = 0.1;
  EXPECT_EQ(*Sample(params, logits, 0.5), 1);
}

TEST(NumbersFor, OneNumberDecidesTwiceIndependently) {
  SamplingParams params;
  EXPECT_FALSE(NumbersFor(params, 0.25).excludes_top);
  EXPECT_EQ(NumbersFor(params, 0.25).uniform, 0.25);
  params.xtc_probability = 0.25;
  int count = 0, both = 0;
  constexpr int kDraws = 1000;
  for (int i = 0; i < kDraws; ++i) {
    DrawNumbers numbers = NumbersFor(params, (i + 0.5) / kDraws);
    ASSERT_GE(numbers.uniform, 0);
    ASSERT_LT(numbers.uniform, 1);
    count += numbers.excludes_top;
    both += numbers.excludes_top && numbers.uniform < 0.5;
  }
  EXPECT_EQ(count, 250);
  EXPECT_EQ(both, 125);
  params.xtc_probability = 1;
  EXPECT_TRUE(NumbersFor(params, 0.999).excludes_top);
}

TEST(SampleToken, MinPOfOneKeepsTheLikeliestOnly) {
  SamplingParams params;
  params.min_p = 1;
  for (double u : {0.0, 0.5, 0.9999}) EXPECT_EQ(*Sample(params, {1, 1.001f, 0.5f}, u), 1);
}

TEST(SampleToken, ExtremeTemperaturesStayFinite) {
  SamplingParams params;
  params.temperature = 1e-5;
  EXPECT_EQ(*Sample(params, {1, 2, 1.9f}, 0.999), 1);
  params.temperature = 1e6;
  std::set<int32_t> seen;
  for (int i = 0; i < 30; ++i) seen.insert(*Sample(params, {-1000, 0, 1000}, i / 30.0));
  EXPECT_EQ(seen.size(), 3u);
}

TEST(ComputeLogprobs, EqualsLogSoftmax) {
  SamplerScratch scratch;
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<float> logits = RandomLogits(&random, 1 + static_cast<int>(random() % 200));
    int vocab = static_cast<int>(logits.size());
    long double total = 0;
    for (float logit : logits) total += std::exp(static_cast<long double>(logit));
    int32_t token = static_cast<int32_t>(random() % logits.size());
    int num_top = static_cast<int>(random() % 21);
    TokenLogprobs out = ComputeLogprobs(logits.data(), vocab, token, num_top, &scratch);
    EXPECT_NEAR(out.chosen, logits[token] - std::log(total), 1e-5);
    ASSERT_EQ(static_cast<int>(out.top.size()), std::min(num_top, vocab));
    std::vector<int32_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return logits[a] > logits[b]; });
    for (size_t i = 0; i < out.top.size(); ++i) {
      EXPECT_EQ(out.top[i].first, order[i]);
      EXPECT_NEAR(out.top[i].second, logits[order[i]] - std::log(total), 1e-5);
    }
  }
}

TEST(ComputeLogprobs, LargeLogitsDoNotOverflow) {
  std::vector<float> logits = {1e30f, 1e30f, -1e30f};
  SamplerScratch scratch;
  EXPECT_NEAR(ComputeLogprobs(logits.data(), 3, 0, 0, &scratch).chosen, std::log(0.5), 1e-6);
}

}  // namespace
}  // namespace mlc
