#include "engine/engine_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include "engine/engine_driver.h"

namespace mlc {
namespace {

using testing::Driver;
using testing::kByteVocab;
using testing::MakeEngine;
using testing::Outcome;

constexpr auto kPatience = std::chrono::seconds(60);  // only ever waited for by a bug

// Outcomes of requests, filled by the callback thread.
class Inbox {
 public:
  EventSink Sink() {
    return [this](RequestEvent event) {
      std::lock_guard<std::mutex> lock(mutex_);
      outcomes_[event.id].Add(event);
      num_ended_ += event.finished;
      changed_.notify_all();
    };
  }
  bool WaitForEnds(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return num_ended_ >= count; });
  }
  bool WaitForEvent(RequestId id) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return outcomes_.count(id) > 0; });
  }
  int num_ended() {
    std::lock_guard<std::mutex> lock(mutex_);
    return num_ended_;
  }
  std::map<RequestId, Outcome> Take() {
    std::lock_guard<std::mutex> lock(mutex_);
    return outcomes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RequestId, Outcome> outcomes_;
  int num_ended_ = 0;
};

std::unique_ptr<EngineLoop> Start(FakeModel::Script script = FakeModel::HashOfHistory(kByteVocab)) {
  EngineOptions options;
  options.max_sequences = 4;
  options.max_total_tokens = 128;
  return std::make_unique<EngineLoop>(MakeEngine(std::move(script), options), nullptr);
}

Request Ask(RequestId id, int max_tokens) {
  Request request;
  request.id = id;
  request.prompt = testing::Bytes("prompt " + std::to_string(id));
  request.max_tokens = max_tokens;
  return request;
}

TEST(EngineLoop, AnswersAndCountsBeforeTheLastEvent) {
  Inbox inbox;
  std::atomic<bool> started{false};
  EngineLoop loop(MakeEngine(FakeModel::HashOfHistory(kByteVocab)), [&] { started = true; });
  for (RequestId id = 1; id <= 20; ++id) {
    loop.Submit(Ask(id, 3), inbox.Sink());
    ASSERT_TRUE(inbox.WaitForEnds(static_cast<int>(id)));
    EXPECT_EQ(loop.metrics().num_finished, static_cast<int64_t>(id));
  }
  EXPECT_TRUE(started);
  for (const auto& [id, outcome] : inbox.Take()) EXPECT_TRUE(outcome.status.ok()) << id;
}

TEST(EngineLoop, ARefusedRequestEndsWithAnEventToo) {
  Inbox inbox;
  std::unique_ptr<EngineLoop> loop = Start();
  Request request = Ask(1, 3);
  request.prompt = {};
  loop->Submit(request, inbox.Sink());
  ASSERT_TRUE(inbox.WaitForEnds(1));
  EXPECT_EQ(inbox.Take()[1].status.code(), StatusCode::kInvalidArgument);
}

TEST(EngineLoop, ManyThreadsSubmitAndAbort) {
  constexpr int kThreads = 8, kRequests = 30;
  Inbox inbox;
  std::unique_ptr<EngineLoop> loop = Start();
  std::vector<std::thread> callers;
  for (int t = 0; t < kThreads; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < kRequests; ++i) {
        RequestId id = static_cast<RequestId>(t * kRequests + i + 1);
        loop->Submit(Ask(id, 1 + i % 9), inbox.Sink());
        if (i % 3 == 0) loop->Abort(id - static_cast<RequestId>(i % 2), Cancelled("by the test"));
        if (i % 7 == 0) (void)loop->metrics();
        if (i % 11 == 0) loop->Pause(i % 2 == 1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  loop->Pause(false);
  ASSERT_TRUE(inbox.WaitForEnds(kThreads * kRequests));
  loop.reset();
  std::map<RequestId, Outcome> outcomes = inbox.Take();
  EXPECT_EQ(outcomes.size(), static_cast<size_t>(kThreads * kRequests));
  for (const auto& [id, outcome] : outcomes) {
    EXPECT_EQ(outcome.num_ends, 1) << id;
    if (!outcome.status.ok()) {
      EXPECT_EQ(outcome.status.message(), "by the test");
    }
  }
}

TEST(EngineLoop, DestructionEndsEveryRequestOnce) {
  for (int round = 0; round < 20; ++round) {
    Inbox inbox;
    std::unique_ptr<EngineLoop> loop = Start();
    for (RequestId id = 1; id <= 10; ++id) loop->Submit(Ask(id, 30), inbox.Sink());
    if (round % 2) inbox.WaitForEvent(1);
    if (round % 4 == 3) loop->Pause(true);
    loop.reset();
    std::map<RequestId, Outcome> outcomes = inbox.Take();
    ASSERT_EQ(outcomes.size(), 10u);
    for (const auto& [id, outcome] : outcomes) {
      ASSERT_EQ(outcome.num_ends, 1) << id;
      if (!outcome.status.ok()) {
        EXPECT_EQ(outcome.status.code(), StatusCode::kUnavailable);
        EXPECT_TRUE(outcome.status.Is(Reason::kModelUnloaded));
      }
    }
  }
}

TEST(EngineLoop, NoStepIsBegunWhilePaused) {
  Inbox inbox;
  std::unique_ptr<EngineLoop> loop = Start();
  loop->Pause(true);
  loop->Submit(Ask(1, 3), inbox.Sink());
  loop->Submit(Ask(2, 3), inbox.Sink());
  loop->Abort(2, Cancelled("while paused"));
  ASSERT_TRUE(inbox.WaitForEnds(1));
  EXPECT_EQ(inbox.Take()[2].status.message(), "while paused");
  EXPECT_EQ(loop->metrics().num_steps, 0);
  EXPECT_EQ(inbox.num_ended(), 1);
  loop->Pause(false);
  ASSERT_TRUE(inbox.WaitForEnds(2));
  EXPECT_TRUE(inbox.Take()[1].status.ok());
}

TEST(EngineLoop, APauseHoldsFromTheNextStepOn) {
  Inbox inbox;
  std::atomic<EngineLoop*> to_pause{nullptr};
  std::atomic<int> num_forwards{0};
  FakeModel::Script script = FakeModel::HashOfHistory(kByteVocab);
  std::unique_ptr<EngineLoop> loop =
      Start([&, script](const std::vector<int32_t>& history, float* logits) {
        // from within the third step: as an app does while the model runs
        if (++num_forwards == 3) to_pause.load()->Pause(true);
        script(history, logits);
      });
  to_pause = loop.get();
  Request request = Ask(1, 10);
  request.ignore_eos = true;
  loop->Submit(request, inbox.Sink());
  while (num_forwards < 3) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {  // the compute thread goes around its loop this often
    std::promise<void> done;
    loop->Do([&done](Engine*) { done.set_value(); });
    done.get_future().wait();
  }
  EXPECT_EQ(num_forwards, 3);
  EXPECT_EQ(inbox.num_ended(), 0);
  loop->Pause(false);
  ASSERT_TRUE(inbox.WaitForEnds(1));
  EXPECT_EQ(inbox.Take()[1].generated.size(), 10u);
}

TEST(EngineLoop, TimeLimitsHoldWhilePausedToo) {
  Inbox inbox;
  std::unique_ptr<EngineLoop> loop = Start();
  loop->Pause(true);
  Request request = Ask(1, 3);
  request.timeout = std::chrono::milliseconds(20);
  loop->Submit(request, inbox.Sink());
  ASSERT_TRUE(inbox.WaitForEnds(1));
  EXPECT_EQ(inbox.Take()[1].status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(loop->metrics().num_steps, 0);
}

TEST(EngineLoop, ACallbackThatThrowsHarmsNobody) {
  Inbox inbox;
  std::unique_ptr<EngineLoop> loop = Start();
  std::atomic<int> thrown{0};
  loop->Submit(Ask(1, 5), [&](const RequestEvent&) {
    ++thrown;
    throw std::runtime_error("from the caller");
  });
  loop->Submit(Ask(2, 5), inbox.Sink());
  ASSERT_TRUE(inbox.WaitForEnds(1));
  EXPECT_TRUE(inbox.Take()[2].status.ok());
  loop.reset();
  EXPECT_GE(thrown, 2);  // the later events were delivered all the same
}

TEST(EngineLoop, CallbacksMaySubmitAndAbort) {
  Inbox inbox;
  std::unique_ptr<EngineLoop> loop = Start();
  EventSink sink = inbox.Sink();
  loop->Submit(Ask(1, 3), [&, sink](const RequestEvent& event) {
    if (event.finished) loop->Submit(Ask(2, 3), sink);
    sink(event);
  });
  loop->Submit(Ask(3, -1), [&, sink](const RequestEvent& event) {
    loop->Abort(3, Cancelled("enough"));
    sink(event);
  });
  ASSERT_TRUE(inbox.WaitForEnds(3));
  EXPECT_TRUE(inbox.Take()[2].status.ok());
}

TEST(EngineLoop, PostRunsInOrderWithTheEvents) {
  std::vector<int> order;  // the callback thread's until it is joined
  std::unique_ptr<EngineLoop> loop = Start();
  for (int i = 0; i < 5; ++i) loop->Post([&order, i] { order.push_back(i); });
  loop.reset();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(EngineLoop, AfterAResetNothingIsLeft) {
  Inbox inbox;
  std::unique_ptr<EngineLoop> loop = Start();
  for (int round = 0; round < 20; ++round) {  // it must not be the thread's luck
    RequestId id = static_cast<RequestId>(2 * round + 1);
    loop->Submit(Ask(id, 3), inbox.Sink());
    ASSERT_TRUE(inbox.WaitForEnds(2 * round + 1));
    loop->Submit(Ask(id + 1, 1000), inbox.Sink());
    loop->Reset(Cancelled("reset"));
    Metrics metrics = loop->metrics();
    EXPECT_EQ(metrics.num_finished, 0);
    EXPECT_EQ(metrics.num_failed, 0);
    EXPECT_EQ(metrics.num_steps, 0);
    EXPECT_EQ(metrics.num_running + metrics.num_waiting, 0);
    EXPECT_EQ(metrics.num_free_pages, metrics.num_pages);
    ASSERT_TRUE(inbox.WaitForEnds(2 * round + 2));
  }
}

TEST(EngineLoop, APausedRequestGoesOnWhenItIsResumed) {
  Inbox inbox;
  std::unique_ptr<EngineLoop> loop = Start();
  loop->Submit(Ask(1, 40), inbox.Sink());
  ASSERT_TRUE(inbox.WaitForEvent(1));
  loop->PauseRequest(1, true);
  loop->Submit(Ask(2, 3), inbox.Sink());  // its end comes behind all that 1 had on its way
  ASSERT_TRUE(inbox.WaitForEnds(1));
  size_t before = inbox.Take()[1].generated.size();
  if (inbox.Take()[1].num_ends == 0) {  // 40 tokens may have been made before the pause
    loop->Submit(Ask(3, 30), inbox.Sink());
    ASSERT_TRUE(inbox.WaitForEnds(2));
    EXPECT_EQ(inbox.Take()[1].generated.size(), before);
  }
  loop->PauseRequest(1, false);
  while (inbox.Take()[1].num_ends == 0) std::this_thread::yield();
  EXPECT_EQ(inbox.Take()[1].generated.size(), 40u);
}

TEST(EngineLoop, TheEngineWaitsForCallbacksThatAreFarBehind) {
  Inbox inbox;
  std::atomic<bool> go_on{false};
  std::unique_ptr<EngineLoop> loop = Start([](const auto&, float* logits) { logits['a'] = 9; });
  loop->Post([&] {
    while (!go_on) std::this_thread::yield();
  });
  constexpr int kRequests = 24, kTokens = 50;  // more steps than may wait
  for (RequestId id = 1; id <= kRequests; ++id) loop->Submit(Ask(id, kTokens), inbox.Sink());
  int64_t steps = -1, now = 0;
  while (steps != now || now == 0) {  // until it stands
    steps = std::exchange(now, loop->metrics().num_steps);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_LT(loop->metrics().num_finished, kRequests);
  loop->Abort(kRequests, Cancelled("by the test"));  // commands are taken meanwhile
  go_on = true;
  ASSERT_TRUE(inbox.WaitForEnds(kRequests));
  for (RequestId id = 1; id < kRequests; ++id) {
    EXPECT_EQ(inbox.Take()[id].generated.size(), static_cast<size_t>(kTokens));
  }
}

}  // namespace
}  // namespace mlc
