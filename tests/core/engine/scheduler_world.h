// Sequences and pages for tests of the scheduler, with no engine and no model.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/scheduler.h"
#include "support/byte_tokenizer.h"
#include "support/request_state.h"

namespace mlc::testing {

// Sequences by number, with a cache that holds what they have computed. Each comes a millisecond
// after the one before.
class World {
 public:
  World(int num_pages, int page_size, bool keep_prefixes = false)
      : cache_(num_pages, page_size, {keep_prefixes}) {}

  // A running sequence with `computed` of its `tokens`.
  void Run(SequenceId id, int tokens, int computed, int priority = 0) {
    std::shared_ptr<Sequence> sequence = Make(id, tokens, priority);
    sequence->num_computed = computed;
    InsertByRank(std::move(sequence), &running_);
    cache_.Add(id);
    EXPECT_TRUE(cache_.Append(id, computed).ok());
  }
  // A running sequence that shares all that `parent` has computed.
  void RunFork(SequenceId parent, SequenceId id, int tokens) {
    int computed = cache_.Length(parent);
    std::shared_ptr<Sequence> sequence = Make(id, tokens, 0);
    sequence->num_computed = computed;
    InsertByRank(std::move(sequence), &running_);
    cache_.Fork(parent, id, computed);
  }
  void Wait(SequenceId id, int tokens, int priority = 0, int max_tokens = -1) {
    InsertByRank(Make(id, tokens, priority, max_tokens), &waiting_);
  }
  void Pass(Clock::duration time) { now_ += time; }
  Clock::time_point now() const { return now_; }

  Plan Next(int max_sequences, int max_rows) {
    return PlanStep(running_, waiting_, cache_, {max_sequences, max_rows});
  }
  Plan Next(const SchedulerLimits& limits, int prefill_streak = 0) {
    return PlanStep(running_, waiting_, cache_, limits, prefill_streak);
  }

  SequenceList& running() { return running_; }
  SequenceList& waiting() { return waiting_; }
  KVCache& cache() { return cache_; }

 private:
  std::shared_ptr<Sequence> Make(SequenceId id, int tokens, int priority, int max_tokens = -1) {
    Request request;
    request.prompt = std::vector<int32_t>(static_cast<size_t>(tokens), 'x');
    request.priority = priority;
    request.max_tokens = max_tokens;
    request.received = now_ += std::chrono::milliseconds(1);
    return std::make_shared<Sequence>(id, 0, testing::StateOf(std::move(request)),
                                      ByteTokenizer().get());
  }

  KVCache cache_;
  Clock::time_point now_;
  SequenceList running_, waiting_;
};

// "3:2 1:1 preempt 4 admit 1": rows by sequence, L where logits are wanted.
inline std::string Text(const Plan& plan) {
  std::string text;
  for (const WorkItem& item : plan.items) {
    text += std::to_string(item.sequence) + ":" + std::to_string(item.num_rows) + " ";
  }
  for (SequenceId id : plan.preempt) text += "preempt " + std::to_string(id) + " ";
  if (plan.num_admitted > 0) text += "admit " + std::to_string(plan.num_admitted) + " ";
  if (!text.empty()) text.pop_back();
  return text;
}

// Preempts and admits as the engine does, and checks that the plan may.
inline void ApplyMoves(const Plan& plan, World* world) {
  KVCache& cache = world->cache();
  for (SequenceId id : plan.preempt) {
    ASSERT_EQ(world->running().back()->id, id) << "not the last in rank";
    std::shared_ptr<Sequence> last = world->running().back();
    last->num_computed = 0;
    cache.Remove(id);
    world->running().pop_back();
    InsertByRank(std::move(last), &world->waiting());
  }
  for (int i = 0; i < plan.num_admitted; ++i) {
    ASSERT_FALSE(world->waiting().empty());
    cache.Add(world->waiting().front()->id);
    InsertByRank(world->waiting().front(), &world->running());
    world->waiting().pop_front();
  }
}

// Does to the world what the engine does with a plan; checks that the plan was possible.
inline void Apply(const Plan& plan, const SchedulerLimits& limits, World* world) {
  size_t num_running = world->running().size();
  ASSERT_TRUE(plan.num_admitted > 0 || plan.preempt.empty() || plan.preempt.size() < num_running)
      << "the first was preempted for nobody";
  ApplyMoves(plan, world);
  ASSERT_LE(static_cast<int>(world->running().size()), limits.max_sequences);
  std::map<SequenceId, std::shared_ptr<Sequence>> by_id;
  for (const auto& sequence : world->running()) by_id[sequence->id] = sequence;
  int rows = 0;
  for (const WorkItem& item : plan.items) {
    auto found = by_id.find(item.sequence);
    ASSERT_NE(found, by_id.end()) << "planned twice, or not running";
    Sequence& sequence = *found->second;
    ASSERT_GT(item.num_rows, 0);
    ASSERT_LE(sequence.num_computed + item.num_rows, sequence.num_tokens());
    ASSERT_TRUE(world->cache().Append(item.sequence, item.num_rows).ok())
        << "more pages than there are";
    sequence.num_computed += item.num_rows;
    rows += item.num_rows;
    by_id.erase(found);
  }
  ASSERT_LE(rows, limits.max_rows);
}

}  // namespace mlc::testing
