// Thousands of random lives of a scheduler: requests of all priorities come while others run, in
// pools too small for them, in both prefill modes. Apply checks that each plan keeps to pages, rows
// and places; here is checked that it keeps to the order of rank, and that everyone finishes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "engine/scheduler_world.h"

namespace mlc {
namespace {

using testing::Apply;
using testing::World;

class Life {
 public:
  explicit Life(uint32_t seed)
      : random_(seed), page_size_(1 + Below(5)), world_(4 + Below(30), page_size_) {
    limits_.max_rows = 1 + Below(24);
    limits_.max_sequences = 1 + Below(std::min(6, limits_.max_rows));
    limits_.prefill_mode = Below(2) ? PrefillMode::kChunked : PrefillMode::kHybrid;
    limits_.max_prefill_streak = 1 + Below(4);
    if (Below(2)) limits_.prompt_rows = {1 + Below(12), 1 + Below(24)};
    capacity_ = world_.cache().num_pages() * page_size_;
  }

  void RunToTheEnd(int num_requests) {
    int step = 0;
    for (int left = num_requests; left > 0 || HasWork(); ++step) {
      ASSERT_LT(step, 20000) << "never done";
      for (; left > 0 && Below(3) == 0; --left) Arrive(left);
      if (HasWork()) Step();
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(world_.cache().num_free_pages(), world_.cache().num_pages());
    EXPECT_EQ(num_finished_, num_requests);
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  bool HasWork() { return !world_.running().empty() || !world_.waiting().empty(); }

  void Arrive(SequenceId id) {
    int tokens = 1 + Below(capacity_ - 1);
    int answer = 1 + Below(std::min(20, capacity_ - tokens));
    world_.Pass(kPriorityWorth * Below(3) / 2);
    world_.Wait(id, tokens, Below(4) ? 0 : Below(7) - 3, answer);
  }

  void Step() {
    Plan plan = world_.Next(limits_, streak_);
    ASSERT_FALSE(plan.items.empty() && plan.preempt.empty()) << "no progress";
    std::shared_ptr<Sequence> first = FirstInRank();
    CheckMoves(plan);
    Apply(plan, limits_, &world_);
    if (::testing::Test::HasFailure()) return;
    CheckFirst(plan, *first);
    streak_ = plan.holds_up_decodes ? streak_ + 1 : 0;
    ASSERT_LE(streak_, limits_.max_prefill_streak) << "decodes starve";
    for (const WorkItem& item : plan.items) {
      Accept(item.sequence);
    }
  }

  // Who gives way has the lower priority, or ranks behind somebody that needs its pages; who is let
  // in ranks before all that stay outside (Apply takes them from the head of the queue).
  void CheckMoves(const Plan& plan) {
    size_t kept = world_.running().size() - plan.preempt.size();
    for (size_t i = 0; i < kept && kept < world_.running().size(); ++i) {
      EXPECT_TRUE(RanksBefore(*world_.running()[i], *world_.running()[kept]));
    }
    for (int i = 0; i < plan.num_admitted && !plan.preempt.empty(); ++i) {
      EXPECT_TRUE(RanksBefore(*world_.waiting()[static_cast<size_t>(i)], *world_.running()[kept]));
    }
  }

  std::shared_ptr<Sequence> FirstInRank() {
    if (world_.running().empty()) return world_.waiting().front();
    if (world_.waiting().empty()) return world_.running().front();
    const auto &running = world_.running().front(), &waiting = world_.waiting().front();
    return RanksBefore(*running, *waiting) ? running : waiting;
  }

  // The first of all never goes back, and is never held up by those behind it for long.
  void CheckFirst(const Plan& plan, const Sequence& first) {
    for (SequenceId id : plan.preempt) EXPECT_NE(id, first.id) << "the first was preempted";
    bool goes_on = false;
    for (const WorkItem& item : plan.items) goes_on |= item.sequence == first.id;
    first_stands_ = goes_on || first.id != last_first_ ? 0 : first_stands_ + 1;
    last_first_ = first.id;
    // While it runs it stands for one turn of decodes or a streak of prompts at most; while it
    // waits those of at least its priority may finish before it.
    int patience = limits_.max_prefill_streak + 1;
    if (!world_.cache().Has(first.id)) patience += 200 * limits_.max_sequences;
    EXPECT_LE(first_stands_, patience) << "the first in rank starves";
  }

  // Where all of a sequence is computed, it goes on.
  void Accept(SequenceId id) {
    SequenceList& running = world_.running();
    auto at = std::find_if(running.begin(), running.end(),
                           [id](const auto& sequence) { return sequence->id == id; });
    if ((*at)->num_computed < (*at)->num_tokens()) return;
    (*at)->Accept({'y', std::nullopt}, capacity_);
    if (!(*at)->finished()) return;
    world_.cache().Remove(id);
    running.erase(at);
    ++num_finished_;
  }

  std::mt19937 random_;
  int page_size_;
  World world_;
  SchedulerLimits limits_;
  int capacity_ = 0, streak_ = 0, num_finished_ = 0, first_stands_ = 0;
  SequenceId last_first_ = -1;
};

TEST(SchedulerProperty, RandomLivesKeepEveryRule) {
  const uint32_t num_lives = std::getenv("MLC_TEST_LONG") != nullptr ? 8000 : 400;
  for (uint32_t seed = 0; seed < num_lives; ++seed) {
    Life life(seed);
    life.RunToTheEnd(/*num_requests=*/25);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

// One request of low priority against a stream of high ones that could fill the engine for ever.
int StepsUntilTheLowOneIsDone(int priority_of_the_others, Clock::duration step_time) {
  World world(8, 4);
  SchedulerLimits limits{2, 8};
  world.Wait(1, 6, /*priority=*/0, /*max_tokens=*/8);
  SequenceId next = 2;
  for (int step = 0; step < 3000; ++step) {
    world.Pass(step_time);
    while (world.waiting().size() + world.running().size() < 5) {
      world.Wait(next++, 6, priority_of_the_others, 8);
    }
    Plan plan = world.Next(limits);
    Apply(plan, limits, &world);
    for (const WorkItem& item : plan.items) {
      auto at = std::find_if(world.running().begin(), world.running().end(),
                             [&](const auto& s) { return s->id == item.sequence; });
      if ((*at)->num_computed == (*at)->num_tokens()) (*at)->Accept({'y', std::nullopt}, 32);
      if (!(*at)->finished()) continue;
      if ((*at)->id == 1) return step;
      world.cache().Remove((*at)->id);
      world.running().erase(at);
    }
  }
  return -1;
}

TEST(SchedulerProperty, AgingEndsStarvation) {
  int alone = StepsUntilTheLowOneIsDone(0, std::chrono::milliseconds(10));
  ASSERT_GE(alone, 0);
  for (int priority : {1, 2, 5}) {
    int steps = StepsUntilTheLowOneIsDone(priority, std::chrono::milliseconds(100));
    ASSERT_GE(steps, 0) << "starved at priority " << priority;
    // It yields for as long as the priority is worth, and then has its turn.
    int worth = priority * static_cast<int>(kPriorityWorth / std::chrono::milliseconds(100));
    EXPECT_GT(steps, worth / 2);
    EXPECT_LT(steps, worth + 60);
  }
}

}  // namespace
}  // namespace mlc
