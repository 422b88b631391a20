#include "engine/lifecycle.h"

#include <gtest/gtest.h>

#include "engine/engine_driver.h"

namespace mlc {
namespace {

using testing::Driver;
using testing::kByteVocab;
using testing::MakeEngine;

Request Ask(RequestId id, int max_tokens) {
  Request request;
  request.id = id;
  request.prompt = testing::Bytes("prompt " + std::to_string(id));
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  return request;
}

// What requests 1 .. count answer when nothing disturbs them.
std::map<RequestId, std::vector<int32_t>> Undisturbed(int count, int max_tokens) {
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab)));
  for (int id = 1; id <= count; ++id) EXPECT_TRUE(driver.Add(Ask(id, max_tokens)).ok());
  driver.Run();
  std::map<RequestId, std::vector<int32_t>> tokens;
  for (int id = 1; id <= count; ++id) tokens[id] = driver.Take(id).choices[0].tokens;
  return tokens;
}

TEST(LimitsFor, HotterIsLessAndNeverNothing) {
  const ThermalLimits full{8, 4, 2048};
  struct Case {
    ThermalState state;
    ThermalLimits expected;
  };
  for (const Case& c :
       {Case{ThermalState::kNominal, {8, 4, 2048}}, Case{ThermalState::kFair, {8, 4, 1024}},
        Case{ThermalState::kSerious, {4, 2, 512}}, Case{ThermalState::kCritical, {1, 1, 256}}}) {
    ThermalLimits limits = LimitsFor(c.state, full);
    EXPECT_EQ(limits.num_threads, c.expected.num_threads);
    EXPECT_EQ(limits.max_sequences, c.expected.max_sequences);
    EXPECT_EQ(limits.max_rows, c.expected.max_rows);
    ThermalLimits least = LimitsFor(c.state, {1, 1, 1});
    EXPECT_EQ(least.num_threads * least.max_sequences * least.max_rows, 1);
  }
}

TEST(TrimMemory, CachesAloneGiveNoPagesBack) {
  FakeModel* model = nullptr;
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), Driver::Options(), &model));
  ASSERT_TRUE(driver.Add(Ask(1, 5)).ok());
  driver.Run();
  ASSERT_LT(driver.engine().num_free_pages(), driver.engine().num_pages());
  TrimmedMemory trimmed = driver.engine().TrimMemory(TrimLevel::kCaches);
  EXPECT_EQ(trimmed.num_pages, 0);
  EXPECT_EQ(driver.engine().num_free_pages(), driver.engine().num_pages());
}

TEST(TrimMemory, PagesOfRunningAnswersStay) {
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab)));
  ASSERT_TRUE(driver.Add(Ask(1, 20)).ok());
  for (int i = 0; i < 5; ++i) driver.Step();
  Engine& engine = driver.engine();
  TrimmedMemory trimmed = engine.TrimMemory(TrimLevel::kPages);
  EXPECT_GT(trimmed.num_pages, 0);
  EXPECT_LT(trimmed.num_pages, engine.num_pages());
  EXPECT_EQ(trimmed.page_bytes, trimmed.num_pages * engine.info().page_bytes);
  EXPECT_EQ(trimmed.weight_bytes, 0);
  EXPECT_EQ(engine.metrics().num_preemptions, 0);
  driver.Run();
  EXPECT_EQ(driver.Take(1).choices[0].tokens, Undisturbed(1, 20)[1]);
}

// The fake model forgets what is in a page that is given back, so a page that is still in use would
// change the tokens.
TEST(TrimMemory, AllTakesEverythingAndAnswersGoOnWithTheSameTokens) {
  ModelInfo info = testing::TestInfo();
  info.weight_bytes = 1000;
  FakeModel* model = nullptr;
  Driver driver(
      MakeEngine(FakeModel::HashOfHistory(kByteVocab), Driver::Options(), &model, nullptr, info));
  for (int id = 1; id <= 3; ++id) ASSERT_TRUE(driver.Add(Ask(id, 20)).ok());
  for (int i = 0; i < 6; ++i) driver.Step();
  Engine& engine = driver.engine();
  ASSERT_EQ(*engine.Prewarm(false), 1000);
  ASSERT_TRUE(model->weights_in_memory());
  TrimmedMemory trimmed = engine.TrimMemory(TrimLevel::kAll);
  EXPECT_EQ(trimmed.num_pages, engine.num_pages());
  EXPECT_EQ(trimmed.weight_bytes, 1000);
  EXPECT_FALSE(model->weights_in_memory());
  driver.Run();
  auto expected = Undisturbed(3, 20);
  for (int id = 1; id <= 3; ++id) EXPECT_EQ(driver.Take(id).choices[0].tokens, expected[id]) << id;
}

TEST(Prewarm, RunsOneStepThatLeavesNothingBehind) {
  FakeModel* model = nullptr;
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), Driver::Options(), &model));
  ASSERT_TRUE(driver.engine().Prewarm(true).ok());
  EXPECT_TRUE(model->weights_in_memory());
  EXPECT_EQ(model->num_forwards(), 1);
  EXPECT_EQ(driver.engine().num_free_pages(), driver.engine().num_pages());
  EXPECT_EQ(driver.engine().metrics().num_steps, 0);
  ASSERT_TRUE(driver.engine().Prewarm(false).ok());
  EXPECT_EQ(model->num_forwards(), 1);
  ASSERT_TRUE(driver.Add(Ask(1, 5)).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(1).choices[0].tokens, Undisturbed(1, 5)[1]);
}

TEST(Prewarm, AStepThatFailsIsReportedAndTheEngineGoesOn) {
  FakeModel* model = nullptr;
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), Driver::Options(), &model));
  model->FailForward(0, Unavailable("the device is gone"));
  EXPECT_EQ(driver.engine().Prewarm(true).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(driver.engine().num_free_pages(), driver.engine().num_pages());
  EXPECT_TRUE(driver.engine().Prewarm(true).ok());
}

TEST(SetThermalState, FewerAnswersRunAndAllKeepTheirTokens) {
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab)));
  for (int id = 1; id <= 6; ++id) ASSERT_TRUE(driver.Add(Ask(id, 16)).ok());
  for (int i = 0; i < 4; ++i) driver.Step();
  Engine& engine = driver.engine();
  ASSERT_EQ(engine.metrics().num_running, 6);
  EXPECT_EQ(engine.SetThermalState(ThermalState::kSerious, 4).num_threads, 2);
  EXPECT_EQ(engine.metrics().num_running, 4);
  ThermalLimits limits = engine.SetThermalState(ThermalState::kCritical, 4);
  EXPECT_EQ(limits.num_threads, 1);
  EXPECT_EQ(limits.max_sequences, 1);
  for (int i = 0; i < 3; ++i) {
    driver.Step();
    EXPECT_LE(engine.metrics().num_running, 1);
  }
  EXPECT_EQ(engine.SetThermalState(ThermalState::kNominal, 4).max_sequences, 8);
  driver.Run();
  auto expected = Undisturbed(6, 16);
  for (int id = 1; id <= 6; ++id) EXPECT_EQ(driver.Take(id).choices[0].tokens, expected[id]) << id;
}

// An encoder reads a text in one step, and the limit of a hot device is no reason to refuse it.
TEST(SetThermalState, TextsThatGoIntoOneStepAreStillRead) {
  ModelInfo info = testing::TestInfo();
  info.is_encoder = true;
  Driver driver(
      MakeEngine(FakeModel::HashOfHistory(kByteVocab), Driver::Options(), nullptr, nullptr, info));
  driver.engine().SetThermalState(ThermalState::kCritical, 4);
  for (RequestId id : {1, 2}) {
    Request request;
    request.id = id;
    request.prompt = testing::Bytes(std::string(60, 'x'));
    request.pooling = Pooling::kMean;
    ASSERT_TRUE(driver.Add(std::move(request)).ok());
  }
  driver.Run();
  for (RequestId id : {1, 2}) {
    EXPECT_TRUE(driver.Take(id).status.ok()) << driver.Take(id).status.message();
  }
}

}  // namespace
}  // namespace mlc
