#include "engine/speculation/draft_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace mlc {
namespace {

constexpr DraftSource kSource = DraftSource::kDrafter;

TEST(StepTimes, AreRunningMeansThatGrowOld) {
  StepTimes times;
  EXPECT_FALSE(times.Measured(1).has_value());
  times.Add(1, 1.0);
  times.Add(1, 1.2);
  EXPECT_DOUBLE_EQ(*times.Measured(1), 1.1);
  for (int i = 0; i < 200; ++i) times.Add(1, 4.0);
  EXPECT_NEAR(*times.Measured(1), 4.0, 1e-3);
  times.Add(1, 400.0);
  EXPECT_LT(*times.Measured(1), 4.2) << "one slow step decides nothing";
  times.Add(2, 1.0);
  for (int i = 0; i < 1001; ++i) times.Add(3, 1.0);
  EXPECT_FALSE(times.Measured(1).has_value());
  times.Add(1, 7.0);
  EXPECT_DOUBLE_EQ(*times.Measured(1), 7.0) << "what is old does not weigh";
}

TEST(StepTimes, AreSureTheSecondTime) {
  StepTimes times;
  EXPECT_EQ(times.Near(1), 0);
  times.Add(2, 9.0);
  EXPECT_FALSE(times.Sure(2).has_value());
  EXPECT_EQ(times.Near(1), 0);
  times.Add(2, 4.0);
  EXPECT_DOUBLE_EQ(*times.Sure(2), 4.0) << "the first time is forgotten";
  times.Add(8, 6.0);
  times.Add(8, 6.0);
  EXPECT_EQ(times.Near(1), 4.0);
  EXPECT_EQ(times.Near(5), 6.0);
}

TEST(StepTimes, EstimatesInFavourOfWhatIsNotKnown) {
  StepTimes times;
  auto estimate = [&](int rows) { return times.Estimate(rows, 2, 10.0); };
  EXPECT_DOUBLE_EQ(estimate(5), 10.0);
  EXPECT_DOUBLE_EQ(estimate(9), 20.0) << "so many are not tried first";
  times.Add(6, 18.0);
  EXPECT_DOUBLE_EQ(estimate(6), 14.4) << "it may have been slow because it was the first";
  times.Add(6, 18.0);
  EXPECT_DOUBLE_EQ(estimate(6), 16.2);
  EXPECT_DOUBLE_EQ(estimate(4), 11.55);
  EXPECT_DOUBLE_EQ(estimate(10), 22.4);
  EXPECT_DOUBLE_EQ(estimate(12), 30.5);
  times.Add(16, 58.0);
  times.Add(16, 58.0);
  EXPECT_DOUBLE_EQ(estimate(11), 25.2);
  for (int i = 0; i < 300; ++i) times.Add(6, 18.0);
  EXPECT_NEAR(estimate(6), 18.0, 0.1) << "often measured, it is believed";
}

// A machine on which a step of r rows takes row_seconds(r), and a text whose drafts are accepted
// with some chance each.
struct Simulation {
  std::function<double(int)> row_seconds;
  double acceptance;
  double draft_seconds = 0;
  int num_sequences = 1;

  // Tokens a second with the best fixed number of drafts.
  double Best() const {
    double best = 0, tokens = 1;
    for (int drafts = 0; drafts <= 15; tokens += std::pow(acceptance, ++drafts)) {
      double seconds = row_seconds(num_sequences * (1 + drafts)) + draft_seconds * drafts;
      best = std::max(best, num_sequences * tokens / seconds);
    }
    return best;
  }

  // Tokens a second, and drafts a step of late.
  std::pair<double, double> Run(int num_steps) const {
    std::mt19937 random(7);
    DraftPolicy policy;
    std::vector<DraftRecord> records(static_cast<size_t>(num_sequences));
    double seconds = 0, tokens = 0, late_drafts = 0;
    for (int step = 0; step < num_steps; ++step) {
      std::vector<DraftCandidate> candidates;
      for (const DraftRecord& r : records) {
        candidates.push_back({DraftPolicy::ChainGains(policy.Chances(kSource, r), 15)});
      }
      std::vector<int> lengths = policy.Choose({num_sequences}, candidates, draft_seconds).counts;
      int rows = num_sequences, step_tokens = 0, deepest = 0;
      for (size_t i = 0; i < lengths.size(); ++i) {
        int accepted = 0;
        while (accepted < lengths[i] && std::ldexp(random(), -32) < acceptance) ++accepted;
        policy.Record(kSource, lengths[i], accepted, &records[i]);
        step_tokens += 1 + accepted;
        rows += lengths[i];
        deepest = std::max(deepest, lengths[i]);
      }
      double model = row_seconds(rows);
      double drafting = draft_seconds * deepest;
      policy.RecordStep(num_sequences, rows, step_tokens, {model, drafting});
      seconds += model + drafting;
      tokens += step_tokens;
      if (2 * step > num_steps) late_drafts += rows - num_sequences;
    }
    return {tokens / seconds, late_drafts / num_steps * 2};
  }
};

double Off(const Simulation& s) { return s.num_sequences / s.row_seconds(s.num_sequences); }

// As measured on a CPU: two and three rows take longer than four.
double CpuSeconds(int rows) {
  const double table[] = {0, .0154, .022, .0278, .0183};
  return rows <= 4 ? table[rows] : .0183 + .0017 * (rows - 4);
}

// The 1B shape on two threads.
double LargeSeconds(int rows) {
  const double table[] = {0, .0365, .0375, .038, .0388, .045, .047, .049, .051};
  return rows <= 8 ? table[rows] : .051 + .0045 * (rows - 8);
}

TEST(DraftPolicy, IsNearTheBestFixedLengthAtEveryAcceptance) {
  const struct {
    int num_sequences, num_steps;
    double near_best;  // trials weigh more in few steps
    std::vector<double> acceptances;
  } batches[] = {
      {1, 250, 0.92, {0.0, 0.45, 0.6, 0.75, 0.9}},
      {1, 2000, 0.97, {0.0, 0.15, 0.45, 0.6, 0.75, 0.9}},
      {4, 1600, 0.97, {0.0, 0.6, 0.9}},
      {16, 250, 0.96, {0.0, 0.15, 0.6, 0.9}},
  };
  for (double draft_seconds : {.0045, .010}) {
    for (const auto& [num_sequences, num_steps, near_best, acceptances] : batches) {
      for (double acceptance : acceptances) {
        Simulation s{LargeSeconds, acceptance, draft_seconds, num_sequences};
        double rate = s.Run(num_steps).first;
        EXPECT_GT(rate, near_best * s.Best())
            << num_sequences << " sequences, accepted " << acceptance << ", " << draft_seconds
            << ", " << num_steps << " steps";
        EXPECT_GT(rate, 0.98 * Off(s));
      }
    }
  }
}

TEST(DraftPolicy, DraftsMuchWhereRowsAreCheapAndDraftsGood) {
  auto [rate, drafts] = Simulation{[](int) { return 0.01; }, 0.9}.Run(500);
  EXPECT_GT(rate, 5 * 100.0);
  EXPECT_GT(drafts, 10);
}

TEST(DraftPolicy, FindsTheRowsThatPay) {
  Simulation cpu{CpuSeconds, 0.8};
  auto [rate, drafts] = cpu.Run(500);
  EXPECT_GT(rate, 1.9 * Off(cpu));
  EXPECT_GE(drafts, 3);
}

TEST(DraftPolicy, NeverLosesMuch) {
  auto linear = [](int rows) { return 0.01 * rows; };
  auto worse = [](int rows) { return 0.01 * rows * rows; };
  for (const Simulation& s :
       {Simulation{CpuSeconds, 0.0}, Simulation{CpuSeconds, 0.1}, Simulation{linear, 0.5},
        Simulation{linear, 0.0}, Simulation{worse, 0.9}, Simulation{CpuSeconds, 0.9, 0.03},
        Simulation{CpuSeconds, 0.0, 0.015}, Simulation{linear, 0.3, 0, 4},
        Simulation{CpuSeconds, 0.05, 0, 3}}) {
    auto [rate, drafts] = s.Run(1000);
    EXPECT_GT(rate, 0.93 * Off(s)) << s.acceptance << " " << s.draft_seconds << " " << drafts;
  }
}

TEST(DraftPolicy, ADraftModelThatIsSlowIsUsedSparingly) {
  Simulation fast{CpuSeconds, 0.8, 0.001}, slow{CpuSeconds, 0.8, 0.008};
  EXPECT_GT(fast.Run(1000).first, 1.5 * Off(fast));
  EXPECT_LT(slow.Run(1000).second, fast.Run(1000).second);
}

TEST(DraftPolicy, TheBetterSequenceGetsTheDrafts) {
  DraftPolicy policy;
  policy.RecordStep(2, 2, 2, {0.014});
  for (int rows = 2; rows <= 12; ++rows) {
    policy.RecordStep(2, rows, 2, {0.01 + 0.002 * rows, 0, 0, false});
  }
  auto chain = [](double chance, int most) {
    return DraftCandidate{DraftPolicy::ChainGains({chance, chance, chance, chance}, most)};
  };
  std::vector<int> lengths = policy.Choose({2}, {chain(0.2, 8), chain(0.95, 8)}, 0).counts;
  EXPECT_GT(lengths[1], lengths[0]);
  lengths = policy.Choose({2}, {chain(0.95, 0), chain(0.95, 2)}, 0).counts;
  EXPECT_EQ(lengths, (std::vector<int>{0, 2}));
}

const DraftCandidate kSure{std::vector<double>(8, 1.0)};

TEST(DraftPolicy, APlainStepIsMeasuredFirst) {
  DraftPolicy policy;
  EXPECT_EQ(policy.Choose({1}, {kSure}, 0).counts, (std::vector<int>{0}));
  policy.RecordStep(1, 1, 1, {0.01});
  EXPECT_EQ(policy.Choose({1}, {kSure}, 0).counts, (std::vector<int>{0}))
      << "it may have been slow";
  policy.RecordStep(1, 1, 1, {0.01});
  EXPECT_EQ(policy.Choose({1}, {kSure}, 0).counts, (std::vector<int>{3}))
      << "more rows step by step";
  EXPECT_EQ(policy.Choose({2}, {kSure, kSure}, 0).counts, (std::vector<int>{0, 0}));
}

TEST(DraftPolicy, OneOfManySequencesMayDraft) {
  DraftPolicy policy;
  for (int i = 0; i < 2; ++i) policy.RecordStep(4, 4, 4, {0.01});
  EXPECT_EQ(policy.Choose({4}, {kSure}, 0).counts, (std::vector<int>{8}));
  EXPECT_EQ(policy.Choose({1}, {kSure}, 0).counts, (std::vector<int>{0}))
      << "one row was not measured";
}

TEST(DraftPolicy, RowsThatAreDraftedAlreadyCount) {
  DraftPolicy policy;
  for (int i = 0; i < 40; ++i) {  // rows are free up to 8
    int rows = 1 + i / 2;
    policy.RecordStep(1, rows, rows, {rows <= 8 ? 0.01 : 0.01 * rows, 0, 0, false});
  }
  EXPECT_EQ(policy.Choose({1}, {kSure}, 0).counts, (std::vector<int>{7}));
  EXPECT_EQ(policy.Choose({1, 5, 5}, {kSure}, 0).counts, (std::vector<int>{2}));
}

TEST(DraftPolicy, ATreesChancesAreTrustedAsFarAsTheyWereRight) {
  Drafts tree;
  tree.Add(7, Drafts::kKnown, 0.5);
  tree.Add(8, 0, 0.25);
  tree.Add(9, Drafts::kKnown, 0.4);
  DraftPolicy policy;
  EXPECT_EQ(policy.TreeGains(tree), (std::vector<double>{0.5, 0.4, 0.25}));
  auto record = [&](int accepted) {
    policy.RecordTree(tree, accepted);
    policy.RecordStep(1, 1, 1, {0.01});
  };
  for (int i = 0; i < 40; ++i) record(i % 2);  // 0.5 each, and 1.15 were promised
  EXPECT_NEAR(policy.TreeGains(tree)[0], 0.5 * 0.5 / 1.15, 0.05);
  for (int i = 0; i < 200; ++i) record(2);
  EXPECT_NEAR(policy.TreeGains(tree)[2], 0.25 * 2 / 1.15, 0.05);
  EXPECT_LE(policy.TreeGains(tree)[0], 1);
}

TEST(DraftPolicy, SourcesLearnApart) {
  DraftPolicy policy;
  DraftRecord forced, fresh;
  double guess = policy.Chances(kSource, fresh)[0];
  for (int i = 0; i < 20; ++i) policy.Record(DraftSource::kForced, 4, 4, &forced);
  EXPECT_GT(policy.Chances(DraftSource::kForced, fresh)[0], 0.9);
  EXPECT_DOUBLE_EQ(policy.Chances(kSource, fresh)[0], guess);
}

TEST(DraftPolicy, ChancesAreLearntByPlaceAndForgotten) {
  DraftPolicy policy;
  DraftRecord bad, fresh;
  auto chance = [&](const DraftRecord& record, size_t place) {
    return policy.Chances(kSource, record)[place];
  };
  double guess = chance(fresh, 0);
  auto record = [&](int drafts, int accepted, int times) {
    for (int i = 0; i < times; ++i) {
      policy.Record(kSource, drafts, accepted, &bad);
      policy.RecordStep(1, 1, 1, {0.01});
    }
  };
  record(4, 0, 10);
  EXPECT_LT(chance(bad, 0), 0.15);
  EXPECT_DOUBLE_EQ(chance(bad, 1), chance(fresh, 1)) << "no second draft was tried";
  EXPECT_LT(chance(fresh, 0), guess) << "others learn from it";
  record(0, 0, 6000);
  EXPECT_GT(chance(bad, 0), 0.4) << "it is tried again";
  record(4, 3, 100);
  for (size_t place : {0, 1, 2}) EXPECT_GT(chance(bad, place), 0.9) << place;
  EXPECT_LT(chance(bad, 3), 0.1);
  std::vector<double> gains = DraftPolicy::ChainGains(policy.Chances(kSource, bad), 6);
  EXPECT_GT(gains[2], 0.7);
  EXPECT_LT(gains[5], 0.01) << "the last place stands for the ones behind it";
}

TEST(DraftPolicy, ADrafterThatLosesDoesNotEndFoundDrafts) {
  DraftPolicy policy;
  DraftCandidate found = kSure;
  found.by_drafter = false;
  auto record = [&](bool by_drafter, int times) {
    for (int i = 0; i < times; ++i) policy.RecordStep(1, 1, 1, {0.01});
    for (int i = 0; i < times; ++i) policy.RecordStep(1, 2, 1, {0.016, 0, 0, by_drafter});
  };
  record(true, 10);
  EXPECT_EQ(policy.Choose({1}, {kSure}, 0).counts, (std::vector<int>{0}));
  EXPECT_GT(policy.Choose({1}, {found}, 0).counts[0], 0);
  record(false, 10);
  EXPECT_EQ(policy.Choose({1}, {found}, 0).counts, (std::vector<int>{0}));
}

TEST(DraftPolicy, LookingUpEndsWhereItsTimeYieldsNothing) {
  DraftPolicy policy;
  int looked = 0;
  auto run = [&](double finding, int yield) {
    looked = 0;
    for (int i = 0; i < 1000; ++i) {
      bool may = policy.MayLookUp();
      looked += may ? 1 : 0;
      int tokens = may ? yield : 1;
      policy.RecordStep(1, tokens, tokens, {0.01, 0, may ? finding : 0, false});
    }
    return looked;
  };
  EXPECT_EQ(run(0.00003, 1), 1000) << "0.3 % may be lost";
  EXPECT_LT(run(0.002, 1), 150);
  EXPECT_GT(run(0.002, 2), 800) << "it is looked up again";
}

TEST(DraftPolicy, ADearTrialIsNotMade) {
  DraftPolicy policy;
  for (int i = 0; i < 2; ++i) policy.RecordStep(4, 4, 4, {0.01});
  DraftCandidate hopeful{std::vector<double>(15, 0.9)};
  std::vector<int> lengths = policy.Choose({4}, std::vector<DraftCandidate>(4, hopeful), 0).counts;
  int drafts = 0;
  for (int length : lengths) drafts += length;
  EXPECT_GT(drafts, 0);
  // 0.1 tokens of each row are lost if a row costs as much as without drafts
  EXPECT_LE(0.1 * drafts / 4, 2.6);
  DraftCandidate poor{std::vector<double>(15, 0.55)};
  EXPECT_EQ(policy.Choose({1, 20, 20}, {poor}, 0).counts, (std::vector<int>{0})) << "not measured";
}

}  // namespace
}  // namespace mlc
