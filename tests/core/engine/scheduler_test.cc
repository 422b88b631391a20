#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "engine/scheduler_world.h"

namespace mlc {
namespace {

using testing::Apply;
using testing::Text;
using testing::World;

TEST(PlanStep, NothingToDoIsAnEmptyPlan) { EXPECT_EQ(Text(World(4, 4).Next(4, 16)), ""); }

TEST(PlanStep, AdmitsInOrderWithinTheRows) {
  World world(/*num_pages=*/20, /*page_size=*/4);
  world.Wait(1, 5);
  world.Wait(2, 8);
  world.Wait(3, 2);
  EXPECT_EQ(Text(world.Next(4, 16)), "1:5 2:8 3:2 admit 3");
  EXPECT_EQ(Text(world.Next(4, 7)), "1:5 2:2 admit 2");
  EXPECT_EQ(Text(world.Next(4, 5)), "1:5 admit 1");
  EXPECT_EQ(Text(world.Next(2, 16)), "1:5 2:8 admit 2");
}

TEST(PlanStep, DecodesComeFirstAndAPromptFillsTheRest) {
  World world(20, 4);
  world.Run(1, 30, 10);
  world.Run(2, 6, 5);
  world.Run(3, 9, 8);
  EXPECT_EQ(Text(world.Next(4, 16)), "2:1 3:1 1:10");
  EXPECT_EQ(Text(world.Next(4, 32)), "2:1 3:1 1:20");
  EXPECT_EQ(Text(world.Next(4, 3)), "2:1 3:1 1:1");
}

TEST(PlanStep, AdmissionNeedsPagesForAllTokensAndOneMore) {
  for (int free_pages : {1, 2, 3}) {
    World world(free_pages, 4);
    world.Wait(1, 8);  // two pages, and a third for its first answer token
    EXPECT_EQ(Text(world.Next(4, 16)), free_pages == 3 ? "1:8 admit 1" : "") << free_pages;
  }
}

TEST(PlanStep, AShortRequestDoesNotOvertakeALongOne) {
  World world(3, 4);
  world.Run(1, 5, 4);
  world.Wait(2, 9);
  world.Wait(3, 1);
  EXPECT_EQ(Text(world.Next(4, 16)), "1:1");
}

TEST(PlanStep, TheYoungestGivesItsPagesToTheOldest) {
  World world(3, 4);
  world.Run(1, 5, 4);  // needs its second page
  world.Run(2, 4, 3);
  world.Run(3, 4, 3);
  EXPECT_EQ(Text(world.Next(4, 16)), "1:1 2:1 preempt 3");
}

TEST(PlanStep, WhatWasPlannedForTheYoungestIsTakenBack) {
  World world(3, 4);
  world.Run(1, 9, 4);  // a prompt, planned after the decode of 2
  world.Run(2, 5, 4);
  EXPECT_EQ(Text(world.Next(4, 16)), "1:4 preempt 2");
  world.Wait(3, 1);  // nobody is admitted while somebody is preempted
  EXPECT_EQ(Text(world.Next(4, 16)), "1:4 preempt 2");
}

TEST(PlanStep, PagesAndRowsThatAreTakenBackAreUsedAgain) {
  World pages(2, 4);
  pages.Run(1, 9, 4);
  pages.RunFork(1, 2, 5);  // shares the page of 1 and was planned the last free one
  EXPECT_EQ(Text(pages.Next(4, 16)), "1:4 preempt 2");
  World rows(4, 4);
  rows.Run(1, 12, 4);
  rows.Run(2, 12, 5);
  rows.Run(3, 4, 3);
  EXPECT_EQ(Text(rows.Next(4, 6)), "1:4 2:2 preempt 3");
}

TEST(PlanStep, TheYoungestStepsBackWhenOnlyOlderOnesHoldPages) {
  World world(2, 4);
  world.Run(1, 4, 3);
  world.Run(2, 5, 4);
  EXPECT_EQ(Text(world.Next(4, 16)), "1:1 preempt 2");
}

TEST(PlanStep, APromptTakesTheRowsThatItsPagesHold) {
  World world(4, 4);
  world.Run(1, 40, 8);
  EXPECT_EQ(Text(world.Next(4, 32)), "1:8");
}

TEST(PlanStep, ForkedSequencesNeedPagesForTheirCopies) {
  World world(3, 4);
  world.Run(1, 6, 5);
  world.RunFork(1, 2, 6);  // both write into the shared last page
  EXPECT_EQ(Text(world.Next(4, 16)), "1:1 preempt 2");
  World roomy(4, 4);
  roomy.Run(1, 6, 5);
  roomy.RunFork(1, 2, 6);
  EXPECT_EQ(Text(roomy.Next(4, 16)), "1:1 2:1");
}

TEST(PlanStep, APlanChangesNothing) {
  World world(3, 4);
  world.Run(1, 5, 4);
  world.Run(2, 4, 3);
  world.Run(3, 4, 3);
  std::string first = Text(world.Next(4, 16));
  EXPECT_EQ(Text(world.Next(4, 16)), first);
  EXPECT_EQ(world.running().size(), 3u);
  EXPECT_EQ(world.cache().num_free_pages(), 0);
}

// ---- Priorities ---------------------------------------------------------------------------------

TEST(PlanStep, HigherPrioritiesAreAdmittedFirst) {
  World world(20, 4);
  world.Wait(1, 3, /*priority=*/0);
  world.Wait(2, 3, /*priority=*/2);
  world.Wait(3, 3, /*priority=*/2);
  world.Wait(4, 3, /*priority=*/-1);
  EXPECT_EQ(Text(world.Next(4, 16)), "2:3 3:3 1:3 4:3 admit 4");
}

TEST(PlanStep, LowestPriorityGivesItsPagesFirstAndOfThoseTheYoungest) {
  World world(4, 4);
  world.Run(1, 4, 3, /*priority=*/0);
  world.Run(2, 4, 3, /*priority=*/0);
  world.Run(3, 5, 4, /*priority=*/5);  // needs a second page
  world.Run(4, 4, 3, /*priority=*/1);
  EXPECT_EQ(Text(world.Next(4, 16)), "3:1 4:1 1:1 preempt 2");
}

TEST(PlanStep, AHigherPriorityTakesThePlaceOfARunningSequence) {
  World world(20, 4);
  world.Run(1, 6, 5);
  world.Run(2, 6, 5);
  world.Wait(3, 3, /*priority=*/1);
  EXPECT_EQ(Text(world.Next(2, 16)), "1:1 3:3 preempt 2 admit 1");
  EXPECT_EQ(Text(world.Next(3, 16)), "1:1 2:1 3:3 admit 1") << "there is room for all";
}

TEST(PlanStep, EqualPrioritiesWaitForAPlace) {
  World world(20, 4);
  world.Run(1, 6, 5, /*priority=*/1);
  world.Wait(2, 3, /*priority=*/1);
  EXPECT_EQ(Text(world.Next(1, 16)), "1:1");
}

TEST(PlanStep, AgeAloneTakesNobodysPlace) {
  World world(20, 4);
  world.Wait(1, 3, /*priority=*/0);
  world.Pass(kPriorityWorth * 3);
  world.Run(2, 6, 5, /*priority=*/1);  // ranks behind 1, and is more urgent
  EXPECT_EQ(Text(world.Next(1, 16)), "2:1");
}

TEST(PlanStep, NobodyGivesWayInVain) {
  World world(4, 4);
  world.Run(1, 6, 5, /*priority=*/3);
  world.Run(2, 4, 3, /*priority=*/0);
  world.Wait(3, 12, /*priority=*/1);  // four pages: those of 2 are not enough
  EXPECT_EQ(Text(world.Next(4, 16)), "1:1 2:1");
}

TEST(PlanStep, ARowsBudgetIsNotHeldAgainstAHigherPriority) {
  World world(20, 4);
  world.Run(1, 9, 8);
  world.Run(2, 9, 8);
  world.Wait(3, 5, /*priority=*/1);
  EXPECT_EQ(Text(world.Next(4, 2)), "1:1 3:1 preempt 2 admit 1");
}

TEST(PlanStep, LongWaitingOutweighsPriority) {
  World world(20, 4);
  world.Run(1, 6, 5, /*priority=*/0);
  world.Pass(kPriorityWorth * 2);
  world.Wait(2, 3, /*priority=*/1);
  EXPECT_EQ(Text(world.Next(1, 16)), "1:1") << "it came too late to take the place of 1";
  World queue(20, 4);
  queue.Wait(1, 3, /*priority=*/0);
  queue.Pass(kPriorityWorth * 2);
  queue.Wait(2, 3, /*priority=*/1);
  EXPECT_EQ(Text(queue.Next(1, 16)), "1:3 admit 1");
}

// ---- Turns --------------------------------------------------------------------------------------

void EndTurnsOf(World* world, Clock::time_point now) {
  EndTurns(now, &world->running(), &world->waiting());
}

TEST(EndTurns, ALongAnswerGivesItsPlaceToOneThatWaits) {
  World world(100, 4);
  world.Run(1, kTurnTokens, kTurnTokens - 1);
  world.Run(2, kTurnTokens - 1, kTurnTokens - 2);  // its turn lasts a token more
  world.Wait(3, 3);
  EXPECT_EQ(Text(world.Next(2, 16)), "1:1 2:1") << "before the turn ends";
  EndTurnsOf(&world, world.now());
  EXPECT_EQ(Text(world.Next(2, 16)), "2:1 3:3 preempt 1 admit 1");
  EndTurnsOf(&world, world.now());
  EXPECT_EQ(world.running().back()->turn_begin, kTurnTokens) << "the next turn has begun";
}

TEST(EndTurns, NobodyGivesWayToNobody) {
  World world(100, 4);
  world.Run(1, 300, 299);
  EndTurnsOf(&world, world.now());
  EXPECT_FALSE(world.running()[0]->request->turn_ended.has_value());
}

TEST(EndTurns, TheTurnOfALongSequenceIsLonger) {
  World world(100, 4);
  world.Run(1, 400, 399);
  Sequence& sequence = *world.running()[0];
  sequence.turn_begin = 400 - kTurnTokens;
  EXPECT_FALSE(HadItsTurn(sequence));
  sequence.turn_begin = 300;
  EXPECT_TRUE(HadItsTurn(sequence));
}

TEST(EndTurns, LaterTurnsAreLonger) {
  World world(100, 4);
  world.Run(1, 200, 199);
  Sequence& sequence = *world.running()[0];
  sequence.turn_begin = 200 - kTurnTokens;
  EXPECT_TRUE(HadItsTurn(sequence));
  sequence.request->turn_ended = world.now();
  EXPECT_FALSE(HadItsTurn(sequence));
  sequence.turn_begin = 200 - kLaterTurnTokens;
  EXPECT_TRUE(HadItsTurn(sequence));
}

TEST(EndTurns, WhoComesMuchLaterTakesNobodysPlace) {
  for (bool much_later : {false, true}) {
    World world(100, 4);
    world.Run(1, 100, 99);
    world.Wait(2, 3);
    EndTurnsOf(&world, world.now());
    world.waiting().clear();
    world.Pass(much_later ? 2 * kTurnWorth : kTurnWorth / 2);
    world.Wait(3, 3);
    EXPECT_EQ(Text(world.Next(1, 16)), much_later ? "1:1" : "3:3 preempt 1 admit 1");
  }
}

// ---- Pure chunks --------------------------------------------------------------------------------

TEST(PlanStep, ChunkedTakesPromptsInBeforeItDecodes) {
  World world(40, 4);
  world.Run(1, 6, 5);
  world.Run(2, 30, 10);
  world.Wait(3, 5);
  SchedulerLimits limits{4, 16, PrefillMode::kChunked, /*max_prefill_streak=*/2};
  Plan plan = world.Next(limits);
  EXPECT_EQ(Text(plan), "2:10 3:5 admit 1");
  EXPECT_TRUE(plan.holds_up_decodes);
  limits.max_rows = 32;
  EXPECT_EQ(Text(world.Next(limits)), "2:20 3:5 admit 1");
  EXPECT_EQ(Text(world.Next(limits, /*prefill_streak=*/1)), "2:20 3:5 admit 1");
  plan = world.Next(limits, /*prefill_streak=*/2);
  EXPECT_EQ(Text(plan), "1:1") << "the answers have waited long enough";
  EXPECT_FALSE(plan.holds_up_decodes);
}

TEST(PlanStep, ChunkedDecodesWhenThereIsNoPrompt) {
  World world(20, 4);
  world.Run(1, 6, 5);
  world.Run(2, 8, 7);
  world.Wait(3, 100);
  EXPECT_EQ(Text(world.Next({4, 16, PrefillMode::kChunked, 2})), "1:1 2:1");
  World prompts(20, 4);
  prompts.Wait(1, 20);
  Plan plan = prompts.Next({4, 16, PrefillMode::kChunked, 2}, /*prefill_streak=*/9);
  EXPECT_EQ(Text(plan), "1:12 admit 1");
  EXPECT_FALSE(plan.holds_up_decodes) << "there are none";
}

// ---- Whole texts -------------------------------------------------------------------------------

TEST(PlanStep, WholeTextsAreNeverCut) {
  SchedulerLimits limits{4, 16};
  limits.whole_texts = true;
  World world(40, 4);
  world.Wait(1, 10, 0, /*max_tokens=*/0);
  world.Wait(2, 6, 0, 0);
  world.Wait(3, 2, 0, 0);
  EXPECT_EQ(Text(world.Next(limits)), "1:10 2:6 admit 2");
  limits.max_rows = 15;
  EXPECT_EQ(Text(world.Next(limits)), "1:10 admit 1") << "5 of the 6 rows of text 2 would fit";
  limits.whole_texts = false;
  EXPECT_EQ(Text(world.Next(limits)), "1:10 2:4 3:1 admit 3");
}

// ---- Random states -----------------------------------------------------------------------------

std::unique_ptr<World> RandomWorld(std::mt19937* random, int* max_rows, int* max_sequences) {
  auto below = [random](int n) { return static_cast<int>((*random)() % static_cast<uint32_t>(n)); };
  int num_pages = 2 + below(20), page_size = 1 + below(5);
  auto owned = std::make_unique<World>(num_pages, page_size);
  World& world = *owned;
  *max_rows = 1 + below(24);
  *max_sequences = 1 + below(std::min(6, *max_rows));
  SequenceId id = 1;
  int capacity = num_pages * page_size;  // a sequence of this length would be finished
  for (int i = below(*max_sequences + 1); i > 0; --i) {
    KVCache& cache = world.cache();
    if (id > 1 && below(3) == 0) {
      SequenceId parent = 1 + below(static_cast<int>(id) - 1);
      int computed = cache.Length(parent);
      if (computed < capacity - 1) world.RunFork(parent, id++, computed + 1);
      continue;
    }
    int computed = below(std::min(capacity - 1, cache.num_free_pages() * page_size + 1));
    int extra = 1 + below(capacity - 1 - computed);
    world.Run(id++, computed + (below(2) ? 1 : extra), computed);
  }
  for (int i = below(4); i > 0; --i) world.Wait(100 + i, 1 + below(capacity - 1));
  return owned;
}

// Steps until every sequence is computed whole; those that are leave, as if they had finished.
int StepsUntilDone(World* world, int max_rows, int max_sequences) {
  for (int step = 0; step < 2000; ++step) {
    SequenceList& running = world->running();
    for (auto at = running.begin(); at != running.end();) {
      bool done = (*at)->num_computed == (*at)->num_tokens();
      if (done) world->cache().Remove((*at)->id);
      at = done ? running.erase(at) : at + 1;
    }
    if (running.empty() && world->waiting().empty()) return step;
    SequenceId oldest = running.empty() ? 0 : running.front()->id;
    Plan plan = world->Next(max_sequences, max_rows);
    EXPECT_FALSE(plan.items.empty() && plan.preempt.empty()) << "no progress";
    Apply(plan, {max_sequences, max_rows}, world);
    if (::testing::Test::HasFatalFailure() || ::testing::Test::HasFailure()) return -1;
    if (oldest != 0 && plan.preempt.empty()) {
      bool goes_on = false;
      for (const WorkItem& item : plan.items) goes_on |= item.sequence == oldest;
      EXPECT_TRUE(goes_on) << "the oldest stands still";
    }
  }
  ADD_FAILURE() << "never done";
  return -1;
}

TEST(PlanStep, RandomStatesAlwaysComeToTheirEnd) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    int max_rows, max_sequences;
    std::unique_ptr<World> owned = RandomWorld(&random, &max_rows, &max_sequences);
    World& world = *owned;
    StepsUntilDone(&world, max_rows, max_sequences);
    ASSERT_FALSE(HasFailure()) << "round " << round;
    ASSERT_EQ(world.cache().num_free_pages(), world.cache().num_pages());
  }
}

}  // namespace
}  // namespace mlc
