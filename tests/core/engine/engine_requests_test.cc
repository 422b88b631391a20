// Requests that are paused and go on.
#include <gtest/gtest.h>

#include "engine/engine_driver.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::Driver;
using testing::kByteVocab;
using testing::MakeEngine;
using testing::Outcome;

Request Ask(RequestId id, int max_tokens, int n = 1) {
  Request request;
  request.id = id;
  request.prompt = Bytes("the prompt of request " + std::to_string(id));
  request.max_tokens = max_tokens;
  request.n = n;
  request.ignore_eos = true;
  request.sampling.seed = id;
  return request;
}

std::unique_ptr<Engine> Make(const EngineOptions& options = Driver::Options()) {
  return MakeEngine(FakeModel::HashOfHistory(kByteVocab), options);
}

Outcome Undisturbed(const Request& request) {
  Driver driver(Make());
  EXPECT_TRUE(driver.Add(request).ok());
  driver.Run();
  return driver.Take(request.id);
}

TEST(PromptProgress, IsReportedForEachChunkWhenItIsAskedFor) {
  EngineOptions options = Driver::Options();
  options.prefill_chunk_size = 16;
  Driver driver(Make(options));
  Request request = Ask(1, 3, 2), silent = Ask(2, 3);
  request.prompt = Bytes(std::string(40, 'p'));
  request.reports_progress = true;
  ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  ASSERT_TRUE(driver.Add(silent).ok());
  driver.Run();
  std::vector<int> processed;
  Outcome outcome = driver.Take(1);
  for (const PromptProgress& progress : outcome.progress) {
    EXPECT_EQ(progress.total, 40);
    EXPECT_EQ(progress.cached, 0);
    EXPECT_GE(progress.seconds, 0);
    processed.push_back(progress.processed);
  }
  EXPECT_EQ(processed, (std::vector<int>{16, 28, 40}));
  EXPECT_EQ(outcome.choices.size(), 2u);
  EXPECT_TRUE(driver.Take(2).progress.empty());
}

TEST(PausedRequest, OthersGoOnAndItResumesExactly) {
  for (int steps : {0, 1, 5}) {  // it waits, it is in its prompt, it is being answered
    EngineOptions options = Driver::Options();
    options.prefill_chunk_size = 16;
    Driver driver(Make(options));
    Request paused = Ask(1, 30, 3), other = Ask(2, 30);
    ASSERT_TRUE(driver.Add(paused).ok());
    for (int i = 0; i < steps; ++i) driver.Step();
    driver.engine().PauseRequest(1, true);
    driver.engine().PauseRequest(1, true);  // twice is once
    ASSERT_TRUE(driver.Add(other).ok());
    driver.Run();  // to the end of what is not paused
    EXPECT_EQ(driver.Take(2).choices, Undisturbed(other).choices);
    EXPECT_EQ(driver.outcomes().count(1) == 0 ? 0 : driver.outcomes().at(1).num_ends, 0);
    EXPECT_FALSE(driver.engine().has_work()) << "nothing turns while it is paused";
    EXPECT_EQ(driver.engine().metrics().num_running, 0);
    driver.engine().PauseRequest(1, false);
    driver.Run();
    EXPECT_EQ(driver.Take(1).choices, Undisturbed(paused).choices) << "after step " << steps;
    EXPECT_TRUE(driver.AllPagesFree());
  }
}

TEST(PausedRequest, OthersMayTakeItsPages) {
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 64;
  Driver driver(Make(options));
  Request paused = Ask(1, 30), other = Ask(2, 38);
  ASSERT_TRUE(driver.Add(paused).ok());
  for (int i = 0; i < 10; ++i) driver.Step();
  driver.engine().PauseRequest(1, true);
  ASSERT_TRUE(driver.Add(other).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(2).choices, Undisturbed(other).choices);
  EXPECT_EQ(driver.engine().metrics().num_preemptions, 0);
  driver.engine().PauseRequest(1, false);
  driver.Run();
  EXPECT_EQ(driver.Take(1).choices, Undisturbed(paused).choices);
}

TEST(PausedRequest, AbortsAndTimeEndIt) {
  Driver driver(Make());
  Request late = Ask(1, 30);
  late.timeout = std::chrono::milliseconds(1);
  ASSERT_TRUE(driver.Add(late).ok());
  ASSERT_TRUE(driver.Add(Ask(2, 30)).ok());
  driver.engine().PauseRequest(1, true);
  driver.engine().PauseRequest(2, true);
  driver.engine().PauseRequest(77, true);  // nobody
  while (Clock::now() < *late.deadline()) {
  }
  driver.engine().EndOverdue();
  driver.engine().Abort(2, Cancelled("by the test"));
  driver.Collect();
  EXPECT_EQ(driver.Take(1).status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(driver.Take(2).status.code(), StatusCode::kCancelled);
  EXPECT_EQ(driver.engine().metrics().num_waiting, 0);
  EXPECT_EQ(driver.engine().num_queued(), 0);
  EXPECT_TRUE(driver.AllPagesFree());
}

}  // namespace
}  // namespace mlc
