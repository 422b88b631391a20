// Prompts that need several steps are taken in equal chunks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "engine/scheduler_world.h"

namespace mlc {
namespace {

using testing::Apply;
using testing::Text;
using testing::World;

// The rows of each step in which a prompt alone is computed behind `cached` tokens.
std::vector<int> ChunksOf(int tokens, int cached, int max_rows, int page_size = 16) {
  World world(tokens / page_size + 2, page_size);
  world.Run(1, tokens, cached);
  std::vector<int> chunks;
  while (world.running().front()->num_uncomputed() > 0) {
    Plan plan = world.Next(1, max_rows);
    Apply(plan, {1, max_rows}, &world);
    if (::testing::Test::HasFailure()) break;
    chunks.push_back(plan.items.at(0).num_rows);
  }
  return chunks;
}

TEST(PlanStep, TheLastChunkOfAPromptIsNoRest) {
  using Chunks = std::vector<int>;
  EXPECT_EQ(ChunksOf(2048, 0, 2048), Chunks({2048}));
  EXPECT_EQ(ChunksOf(2049, 0, 2048), Chunks({1088, 961}));
  EXPECT_EQ(ChunksOf(2100, 0, 2048), Chunks({1088, 1012}));
  EXPECT_EQ(ChunksOf(4097, 0, 2048), Chunks({1408, 1408, 1281}));
  EXPECT_EQ(ChunksOf(600, 0, 512), Chunks({320, 280}));
  EXPECT_EQ(ChunksOf(130, 0, 128), Chunks({80, 50}));
  EXPECT_EQ(ChunksOf(125, 5, 64), Chunks({59, 61}));
  EXPECT_EQ(ChunksOf(130, 5, 64), Chunks({64, 61})) << "one step more would cost more";
}

SchedulerLimits WithPromptRows(PromptRows rows, PrefillMode mode = PrefillMode::kHybrid) {
  SchedulerLimits limits{/*max_sequences=*/4, /*max_rows=*/512, mode};
  limits.full_rows = 512;
  limits.prompt_rows = rows;
  return limits;
}

TEST(PlanStep, PromptsTakeFewerRowsBesideDecodes) {
  SchedulerLimits limits = WithPromptRows({/*beside_decodes=*/64, /*alone=*/256});
  World world(200, 16);
  world.Run(1, 1024, 0);
  world.Wait(2, 1024);
  EXPECT_EQ(Text(world.Next(limits)), "1:256");
  world.Run(3, 7, 6);
  world.Run(4, 7, 6);
  EXPECT_EQ(Text(world.Next(limits)), "3:1 4:1 1:64");
  limits.prefill_mode = PrefillMode::kChunked;
  EXPECT_EQ(Text(world.Next(limits)), "1:64");
  EXPECT_EQ(Text(world.Next(limits, limits.max_prefill_streak)), "3:1 4:1");
}

TEST(PlanStep, AllPromptsTogetherTakeThoseRows) {
  World world(200, 16);
  world.Run(1, 7, 6);
  for (SequenceId id : {2, 3, 4}) world.Wait(id, 40);
  EXPECT_EQ(Text(world.Next(WithPromptRows({64, 256}))), "1:1 2:40 3:16 4:8 admit 3");
}

TEST(PlanStep, NoDecodeGivesWayForRowsOfPrompts) {
  World world(200, 16);
  world.Run(1, 1024, 0, /*priority=*/5);
  world.Run(2, 7, 6);
  world.Wait(3, 40, /*priority=*/1);  // before 2 in rank, but 1 takes all rows of prompts
  EXPECT_EQ(Text(world.Next(WithPromptRows({64, 256}))), "2:1 1:64");
  World prompts(200, 16);
  prompts.Run(1, 1024, 0);
  prompts.Wait(2, 40, /*priority=*/1);
  EXPECT_EQ(Text(prompts.Next(WithPromptRows({64, 256}))), "1:208 2:40 admit 1") << "nor a prompt";
}

TEST(PlanStep, ShortPromptsDoNotWaitForALongOne) {
  SchedulerLimits limits = WithPromptRows({/*beside_decodes=*/128, /*alone=*/256});
  World world(400, 16);
  world.Run(1, 2000, 0);
  world.Wait(2, 40);
  EXPECT_EQ(Text(world.Next(limits)), "1:208 2:40 admit 1") << "the long one takes whole pages";
  world.Wait(3, 400);
  EXPECT_EQ(Text(world.Next(limits)), "1:128 2:40 3:80 admit 2") << "and at least half of the rows";
  world.Run(4, 7, 6);
  EXPECT_EQ(Text(world.Next(limits)), "4:1 1:64 2:40 3:16 admit 2");
}

TEST(PlanStep, AShortPromptFindsItsWayPastTwoLongOnes) {
  SchedulerLimits limits = WithPromptRows({128, 256});
  World world(400, 16);
  world.Run(1, 2000, 0);
  world.Run(2, 1900, 0);
  world.Wait(3, 1900);
  world.Wait(4, 48);
  Plan plan = world.Next(limits);
  EXPECT_EQ(Text(plan), "1:208 4:48 admit 2") << "2 and 3 have no rows yet";
  Apply(plan, limits, &world);
  EXPECT_EQ(Text(world.Next(limits)), "1:256") << "4 is read";
}

TEST(PlanStep, AnAnswerWithSeveralRowsIsNoPrompt) {
  World world(400, 16);
  world.Run(1, 2000, 0, /*priority=*/1);
  world.Run(2, 7, 7);
  for (int i = 0; i < 2; ++i) world.running().back()->Accept({'y', std::nullopt}, 100);
  EXPECT_EQ(Text(world.Next(WithPromptRows({64, 256}))), "1:64 2:2");
}

TEST(PlanStep, ARequestWaitsForWhatAnotherReads) {
  for (bool keep_prefixes : {false, true}) {
    World world(400, 16, keep_prefixes);
    world.Run(1, 2000, 0);
    world.Wait(2, 300);  // all tokens of all prompts are the same
    SchedulerLimits limits = WithPromptRows({128, 256});
    EXPECT_EQ(Text(world.Next(limits)), keep_prefixes ? "1:256" : "1:128 2:112 admit 1");
    world.Run(3, 7, 6);
    EXPECT_EQ(Text(world.Next(limits)), keep_prefixes ? "3:1 1:128" : "3:1 1:64 2:64 admit 1");
  }
}

TEST(PlanStep, NobodyGivesWayToARequestThatWaitsForAnother) {
  World world(400, 16, /*keep_prefixes=*/true);
  world.Run(1, 100, 0, /*priority=*/1);
  world.Run(2, 7, 6);
  world.Wait(3, 300, /*priority=*/1);
  SchedulerLimits limits = WithPromptRows({128, 256});
  limits.max_sequences = 2;
  EXPECT_EQ(Text(world.Next(limits)), "2:1 1:100");
  world.running().front()->num_computed = 96;
  EXPECT_EQ(Text(world.Next(limits)), "1:4 3:112 preempt 2 admit 1");
}

TEST(PlanStep, ARequestGoesOnBehindWhatAnotherHasRead) {
  World world(400, 16, /*keep_prefixes=*/true);
  world.Run(1, 2000, 32);
  world.Wait(2, 300);
  world.running().front()->num_computed = 320;
  EXPECT_EQ(Text(world.Next(WithPromptRows({128, 256}))), "1:128 2:112 admit 1");
}

TEST(PlanStep, LongPromptsAreReadOneAfterAnother) {
  SchedulerLimits limits = WithPromptRows({128, 256});
  World world(400, 16);
  world.Run(1, 1000, 0);
  world.Wait(2, 251);  // more than a quarter of the first
  EXPECT_EQ(Text(world.Next(limits)), "1:256");
  World urgent(400, 16);
  urgent.Run(1, 2000, 0, /*priority=*/1);
  urgent.Wait(2, 40);
  EXPECT_EQ(Text(urgent.Next(limits)), "1:256") << "nor does a less urgent one go ahead";
  World ending(400, 16);
  ending.Run(1, 2000, 1750);
  ending.Wait(2, 10);
  EXPECT_EQ(Text(ending.Next(limits)), "1:250 2:6 admit 1") << "its last rows";
}

TEST(PlanStep, NoRowsAreSetAsideForOneThatCannotBegin) {
  SchedulerLimits limits = WithPromptRows({128, 256});
  World pages(126, 16);
  pages.Run(1, 2000, 0);
  pages.Wait(2, 1800);  // it has no pages, and 3 waits for it
  pages.Wait(3, 40);
  EXPECT_EQ(Text(pages.Next(limits)), "1:256");
  World places(400, 16);
  places.Run(1, 2000, 0);
  places.Wait(2, 40);
  limits.max_sequences = 1;
  EXPECT_EQ(Text(places.Next(limits)), "1:256");
}

TEST(PlanStep, EqualChunksNeedNoMoreStepsAndEndAtPages) {
  std::mt19937 random(3);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  for (int i = 0; i < 300; ++i) {
    int page_size = 1 << below(7), max_rows = 1 + below(600), cached = below(500);
    int tokens = cached + 1 + below(3000), rest = tokens - cached;
    std::vector<int> chunks = ChunksOf(tokens, cached, max_rows, page_size);
    ASSERT_EQ(static_cast<int>(chunks.size()), (rest + max_rows - 1) / max_rows) << i;
    int end = cached;
    for (size_t c = 0; c + 1 < chunks.size(); ++c) {
      end += chunks[c];
      ASSERT_TRUE(end % page_size == 0 || chunks[c] == max_rows) << i;
      // two tiles: one from rounding up, one from a page that is partly filled
      ASSERT_LE(std::abs(chunks[c] - chunks[c + 1]), 2 * 64) << i;
    }
  }
}

TEST(PlanStep, EqualChunksBesideDecodes) {
  World world(400, 16);
  world.Run(1, 6, 5);
  world.Wait(2, 2048);
  EXPECT_EQ(Text(world.Next(4, 2048)), "1:1 2:1024 admit 1") << "not 2047, which would leave one";
  world.Wait(3, 2048);
  EXPECT_EQ(Text(world.Next(4, 2048)), "1:1 2:1024 3:704 admit 2") << "a third of it fits";
}

}  // namespace
}  // namespace mlc
