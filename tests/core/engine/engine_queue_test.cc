// Priorities, time limits, the queue and the prefill modes, as requests see them.
#include <gtest/gtest.h>

#include <thread>

#include "engine/engine_driver.h"

namespace mlc {
namespace {

using testing::Driver;
using testing::kByteVocab;
using testing::MakeEngine;
using testing::Outcome;

FakeModel::Script Hash() { return FakeModel::HashOfHistory(kByteVocab); }

Request Ask(RequestId id, const std::string& prompt, int max_tokens, int priority = 0) {
  Request request;
  request.id = id;
  request.prompt = testing::Bytes(prompt);
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  request.priority = priority;
  request.sampling.seed = id;
  return request;
}

Outcome Alone(const Request& request) {
  Driver driver(MakeEngine(Hash()));
  EXPECT_TRUE(driver.Add(request).ok());
  driver.Run();
  return driver.Take(request.id);
}

// The ids of the requests in the order in which they end.
std::vector<RequestId> OrderOfEnds(Engine* engine) {
  std::vector<RequestId> order;
  while (engine->has_work()) {
    engine->Step();
    for (const RequestEvent& event : engine->TakeEvents()) {
      if (event.finished) order.push_back(event.id);
    }
  }
  return order;
}

TEST(EngineQueue, HigherPrioritiesEndFirst) {
  EngineOptions options = Driver::Options();
  options.max_sequences = 1;
  std::unique_ptr<Engine> engine = MakeEngine(Hash(), options);
  for (const Request& request : {Ask(1, "abc", 5), Ask(2, "def", 5, -1), Ask(3, "ghi", 5, 2)}) {
    ASSERT_TRUE(engine->Add(request).ok());
  }
  EXPECT_EQ(OrderOfEnds(engine.get()), (std::vector<RequestId>{3, 1, 2}));
}

TEST(EngineQueue, WhoGivesWayLosesNothing) {
  EngineOptions options = Driver::Options();
  options.max_sequences = 1;
  Driver driver(MakeEngine(Hash(), options));
  Request low = Ask(1, "a long story", 20), high = Ask(2, "urgent", 5, /*priority=*/1);
  ASSERT_TRUE(driver.Add(low).ok());
  for (int i = 0; i < 6; ++i) driver.Step();
  ASSERT_TRUE(driver.Add(high).ok());
  for (int i = 0; i < 5; ++i) driver.Step();
  EXPECT_EQ(driver.Take(2).choices, Alone(high).choices) << "it ran at once";
  EXPECT_EQ(driver.engine().metrics().num_preemptions, 1);
  driver.Run();
  EXPECT_EQ(driver.Take(1).choices, Alone(low).choices);
  EXPECT_TRUE(driver.AllPagesFree());
}

TEST(EngineQueue, AnOverdueRequestEndsWhereverItIs) {
  EngineOptions options = Driver::Options();
  options.max_sequences = 1;
  options.prefill_chunk_size = 4;
  for (int steps : {0, 1, 2, 6}) {  // queued, between chunks of its prompt, answering
    Driver late(MakeEngine(Hash(), options));
    Request request = Ask(1, "twelve bytes", 30);
    request.timeout = std::chrono::milliseconds(30);
    ASSERT_TRUE(late.Add(request).ok());
    Clock::time_point deadline = request.received + *request.timeout;
    EXPECT_EQ(late.engine().next_deadline(), deadline);
    for (int i = 0; i < steps; ++i) late.Step();
    std::this_thread::sleep_until(deadline);
    late.engine().EndOverdue();
    late.Collect();
    Outcome outcome = late.Take(1);
    EXPECT_EQ(outcome.status.code(), StatusCode::kDeadlineExceeded);
    EXPECT_TRUE(outcome.status.Is(Reason::kDeadlineExceeded));
    EXPECT_TRUE(late.AllPagesFree()) << steps;
    EXPECT_FALSE(late.engine().has_work());
    EXPECT_EQ(late.engine().next_deadline(), std::nullopt);
  }
}

TEST(EngineQueue, AStepEndsWhatIsOverdueFirst) {
  Driver driver(MakeEngine(Hash()));
  Request late = Ask(1, "late", 5), other = Ask(2, "other", 5);
  late.timeout = std::chrono::milliseconds(1);
  late.received -= std::chrono::seconds(1);
  ASSERT_TRUE(driver.Add(late).ok());
  ASSERT_TRUE(driver.Add(other).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(1).status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(driver.Take(1).choices.empty());
  EXPECT_EQ(driver.Take(2).choices, Alone(other).choices);
}

TEST(EngineQueue, ATimeLimitThatIsKeptChangesNothing) {
  Driver driver(MakeEngine(Hash()));
  Request request = Ask(1, "in time", 5);
  request.timeout = std::chrono::hours(24 * 24);
  ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  EXPECT_TRUE(driver.Take(1).status.ok());
  EXPECT_EQ(driver.engine().next_deadline(), std::nullopt);
}

TEST(EngineQueue, TheQueueCountsRequestsThatNeverRan) {
  EngineOptions options = Driver::Options();
  options.max_queued_requests = 2;
  options.max_sequences = 2;
  Driver driver(MakeEngine(Hash(), options));
  Request many = Ask(1, "many", 12);
  many.n = 6;  // four choices wait, and are no requests
  ASSERT_TRUE(driver.Add(many).ok());
  EXPECT_EQ(driver.engine().num_queued(), 1);
  driver.Step();
  EXPECT_EQ(driver.engine().num_queued(), 0);
  EXPECT_TRUE(driver.Add(Ask(2, "b", 2)).ok());
  EXPECT_TRUE(driver.Add(Ask(3, "c", 2)).ok());
  EXPECT_TRUE(driver.Add(Ask(4, "d", 2)).Is(Reason::kQueueFull));
  driver.engine().Abort(2, Cancelled("by the test"));
  EXPECT_EQ(driver.engine().num_queued(), 1);
  EXPECT_TRUE(driver.Add(Ask(5, "e", 2, /*priority=*/1)).ok());
  driver.Run();
  EXPECT_EQ(driver.engine().num_queued(), 0);
  EXPECT_TRUE(driver.AllPagesFree());
}

TEST(EngineQueue, BothPrefillModesGiveTheSameAnswers) {
  for (PrefillMode mode : {PrefillMode::kHybrid, PrefillMode::kChunked}) {
    EngineOptions options = Driver::Options();
    options.prefill_mode = mode;
    options.prefill_chunk_size = 5;
    options.max_sequences = 4;
    options.max_total_tokens = 100;
    Driver driver(MakeEngine(Hash(), options));
    std::vector<Request> requests;
    for (RequestId id = 1; id <= 12; ++id) {
      std::string prompt(5 + id * 2, static_cast<char>('a' + id));
      requests.push_back(Ask(id, prompt, 3 + static_cast<int>(id), static_cast<int>(id % 3)));
      ASSERT_TRUE(driver.Add(requests.back()).ok());
      driver.Step();
    }
    driver.Run();
    for (const Request& request : requests) {
      EXPECT_EQ(driver.Take(request.id).choices, Alone(request).choices) << request.id;
    }
    EXPECT_TRUE(driver.AllPagesFree());
  }
}

TEST(EngineQueue, CancelBetweenChunksFreesThePagesAtOnce) {
  for (PrefillMode mode : {PrefillMode::kHybrid, PrefillMode::kChunked}) {
    EngineOptions options = Driver::Options();
    options.prefill_chunk_size = 4;
    options.prefill_mode = mode;
    Driver driver(MakeEngine(Hash(), options));
    ASSERT_TRUE(driver.Add(Ask(1, std::string(30, 'p'), 5)).ok());
    for (int i = 0; i < 3; ++i) driver.Step();
    ASSERT_FALSE(driver.AllPagesFree());
    driver.engine().Abort(1, Cancelled("by the test"));
    EXPECT_TRUE(driver.AllPagesFree());
    driver.Collect();
    EXPECT_EQ(driver.Take(1).status.code(), StatusCode::kCancelled);
  }
}

}  // namespace
}  // namespace mlc
