// Rows of pictures whose values a tower makes while the engine runs.
#include <gtest/gtest.h>

#include <utility>

#include "engine/engine_driver.h"
#include "engine/kv_state.h"

namespace mlc {
namespace {

using testing::Driver;
using testing::kByteVocab;
using testing::MakeEngine;
using testing::Outcome;

constexpr int kWidth = 4, kViewRows = 5;

float ValueOf(int picture, int index) { return static_cast<float>(picture * 1000 + index); }

// A view of five rows a turn.
class Maker : public RowMaker {
 public:
  Maker(int picture, int* turns, int fails_at)
      : picture_(picture), turns_(turns), fails_at_(fails_at) {}
  Status Next(std::vector<float>* values) override {
    if (++*turns_ == fails_at_) return ResourceExhausted("no memory for the view");
    for (int i = 0; i < kViewRows * kWidth; ++i) values->push_back(ValueOf(picture_, index_++));
    return Status();
  }

 private:
  int picture_, index_ = 0;
  int* turns_;
  int fails_at_;
};

// Pictures, and how often their tower ran.
struct Tower {
  int turns = 0, fails_at = -1;
  bool see_each_other = false;

  Prompt Show(int picture, int views = 2, const char* before = "see", const char* after = "what") {
    auto rows = std::make_shared<LateRows>(
        HashContent(std::to_string(picture) + " " + std::to_string(views)), views * kViewRows,
        kWidth, std::make_unique<Maker>(picture, &turns, fails_at));
    Prompt prompt(testing::Bytes(before));
    prompt.Append(*EmbeddingRows::Late(rows, 0, views * kViewRows, see_each_other));
    prompt.Append(testing::Bytes(after));
    return prompt;
  }
};

// The same prompt with values that are there.
Prompt Ready(int picture, int views = 2) {
  std::vector<float> values;
  for (int i = 0; i < views * kViewRows * kWidth; ++i) values.push_back(ValueOf(picture, i));
  Prompt prompt({'s', 'e', 'e'});
  prompt.Append(*EmbeddingRows::Make(std::move(values), kWidth));
  prompt.Append({'w', 'h', 'a', 't'});
  return prompt;
}

Request Ask(RequestId id, Prompt prompt, int max_tokens = 8) {
  Request request;
  request.id = id;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  request.ignore_eos = true;
  return request;
}

Driver MakeDriver(const EngineOptions& options = Driver::Options()) {
  return Driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), options));
}

Outcome Answer(Driver* driver, Request request) {
  RequestId id = request.id;
  Status added = driver->Add(std::move(request));
  EXPECT_TRUE(added.ok()) << added.message();
  driver->Run();
  Outcome outcome = driver->Take(id);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  return outcome;
}

TEST(EnginePictures, LateValuesGiveTheSameAnswer) {
  Tower tower;
  Driver late = MakeDriver(), ready = MakeDriver();
  Outcome outcome = Answer(&late, Ask(1, tower.Show(1)));
  EXPECT_EQ(outcome.choices, Answer(&ready, Ask(1, Ready(1))).choices);
  EXPECT_EQ(outcome.usage.prompt_tokens, 17);
  EXPECT_EQ(tower.turns, 2);
  Metrics metrics = late.engine().metrics();
  EXPECT_EQ(metrics.num_encoded_pictures, 1);
  EXPECT_EQ(metrics.row_cache_bytes, int64_t{10} * kWidth * 4);
}

TEST(EnginePictures, RunningAnswersGoOnBetweenViews) {
  Tower tower;
  Driver driver = MakeDriver();
  constexpr size_t kTokens = 50;
  ASSERT_TRUE(driver.Add(Ask(1, Prompt({'a', 'b'}), kTokens)).ok());
  driver.Step();
  ASSERT_TRUE(driver.Add(Ask(2, tower.Show(1, 6))).ok());
  driver.Step();  // it is admitted
  for (int step = 1; tower.turns < 6; ++step) {
    size_t before = driver.outcomes().at(1).generated.size();
    driver.Step();
    EXPECT_LE(tower.turns, step);  // the tower rests as long as its last turn took
    if (before < kTokens) EXPECT_EQ(driver.outcomes().at(1).generated.size(), before + 1) << step;
  }
  driver.Run();
  EXPECT_EQ(tower.turns, 6);
}

TEST(EnginePictures, ACancelledRequestStopsTheTower) {
  Tower tower;
  Driver driver = MakeDriver();
  ASSERT_TRUE(driver.Add(Ask(1, tower.Show(1, 6))).ok());
  while (tower.turns < 2) driver.Step();
  driver.engine().Abort(1, Cancelled("enough"));
  driver.Run();
  EXPECT_EQ(driver.Take(1).status.code(), StatusCode::kCancelled);
  EXPECT_EQ(tower.turns, 2);
  EXPECT_TRUE(driver.AllPagesFree());
}

TEST(EnginePictures, AnErrorEndsItsRequestAlone) {
  Tower tower, other;
  tower.fails_at = 2;
  Driver driver = MakeDriver();
  ASSERT_TRUE(driver.Add(Ask(1, tower.Show(1, 3))).ok());
  ASSERT_TRUE(driver.Add(Ask(2, other.Show(2))).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(1).status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(driver.Take(1).status.message(), "no memory for the view");
  EXPECT_TRUE(driver.Take(2).status.ok());
  EXPECT_TRUE(driver.AllPagesFree());
}

TEST(EnginePictures, WhatIsKeptIsNotEncodedAgain) {
  Tower tower;
  Driver driver = MakeDriver();
  Outcome first = Answer(&driver, Ask(1, tower.Show(1)));
  EXPECT_EQ(tower.turns, 2);
  Outcome again = Answer(&driver, Ask(2, tower.Show(1)));
  EXPECT_EQ(again.usage.cached_tokens, 16) << "by the prefix cache";
  EXPECT_EQ(again.choices, first.choices);
  EXPECT_EQ(driver.engine().metrics().num_row_cache_hits, 0);
  EXPECT_EQ(Answer(&driver, Ask(3, tower.Show(1, 2, "look"))).usage.cached_tokens, 0);
  EXPECT_EQ(driver.engine().metrics().num_row_cache_hits, 1) << "by its rows";
  EXPECT_EQ(tower.turns, 2);
  driver.engine().ClearPrefixCache();
  EXPECT_EQ(Answer(&driver, Ask(4, tower.Show(1))).choices, first.choices);
  EXPECT_EQ(tower.turns, 4);
}

TEST(EnginePictures, APrefixNeverEndsInAPicture) {
  Tower tower;
  Driver driver = MakeDriver();
  // its last row is computed again, and with it the picture
  Answer(&driver, Ask(1, tower.Show(1, 2, "see", "")));
  EXPECT_EQ(Answer(&driver, Ask(2, tower.Show(1, 2, "see", ""))).usage.cached_tokens, 3);
  EXPECT_EQ(Answer(&driver, Ask(3, tower.Show(1, 2, "see", "x"))).usage.cached_tokens, 13);
  EXPECT_EQ(tower.turns, 2);
}

TEST(EnginePictures, APreemptedRequestKeepsItsRows) {
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 64;
  options.max_sequences = 2;
  options.row_cache_bytes = 0;
  for (bool prefix_cache : {true, false}) {
    options.prefix_cache = prefix_cache;
    Tower tower;
    Driver driver = MakeDriver(options);
    ASSERT_TRUE(driver.Add(Ask(1, tower.Show(1), 26)).ok());
    ASSERT_TRUE(driver.Add(Ask(2, tower.Show(2), 40)).ok());
    driver.Run();
    EXPECT_GE(driver.engine().metrics().num_preemptions, 1);
    EXPECT_EQ(tower.turns, 4);
    for (int picture : {1, 2}) {
      Driver cold = MakeDriver();
      Outcome whole = Answer(&cold, Ask(1, Ready(picture), picture == 1 ? 26 : 40));
      EXPECT_EQ(driver.Take(static_cast<RequestId>(picture)).choices, whole.choices);
    }
  }
}

// A request that begins like an earlier one in the middle of a page, and waits for the tower.
struct Waiting {
  Tower tower;
  Driver driver;
  explicit Waiting(const EngineOptions& options = Driver::Options()) : driver(MakeDriver(options)) {
    Answer(&driver, Ask(1, tower.Show(1)));
    EXPECT_TRUE(driver.Add(Ask(2, tower.Show(2))).ok());
    driver.Step();
    EXPECT_EQ(driver.engine().metrics().num_running, 1);
  }
  void ExpectAnswer() {
    driver.Run();
    Outcome outcome = driver.Take(2);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
    EXPECT_EQ(outcome.usage.cached_tokens, 3);
    Driver cold = MakeDriver();
    EXPECT_EQ(outcome.choices, Answer(&cold, Ask(1, Ready(2))).choices);
  }
};

TEST(EnginePictures, PagesThatAreGivenBackWereCopiedBefore) {
  Waiting waiting;
  waiting.driver.engine().TrimMemory(TrimLevel::kPages);
  waiting.ExpectAnswer();
}

TEST(EnginePictures, PagesThatALoadedStateTakesWereCopiedBefore) {
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 64;
  Waiting waiting(options);
  Driver other = MakeDriver();
  Prompt whole(testing::Bytes(std::string(60, 'x')));
  Answer(&other, Ask(1, whole, 1));
  std::shared_ptr<KVState> state = *other.engine().CopyState(0, whole);
  KVFile file;
  file.head = state->head;
  file.pages = state->body();
  ASSERT_EQ(*waiting.driver.engine().AdoptState(file), 60);
  waiting.ExpectAnswer();
}

// The fake model refuses a step in which a row sees a row that is not there.
TEST(EnginePictures, RowsThatSeeEachOtherGoIntoOneStep) {
  Driver plain = MakeDriver();
  Outcome whole = Answer(&plain, Ask(1, Ready(1)));
  for (int chunk : {18, 19, 23, 64}) {
    Tower tower;
    tower.see_each_other = true;
    EngineOptions options = Driver::Options();
    options.prefill_chunk_size = chunk;
    Driver driver = MakeDriver(options);
    ASSERT_TRUE(driver.Add(Ask(2, Prompt(testing::Bytes("another prompt")), 30)).ok());
    ASSERT_TRUE(driver.Add(Ask(1, tower.Show(1))).ok());
    ASSERT_TRUE(driver.Add(Ask(3, tower.Show(3))).ok());
    driver.Run();
    EXPECT_EQ(driver.Take(1).choices, whole.choices) << chunk;
    EXPECT_TRUE(driver.Take(2).status.ok() && driver.Take(3).status.ok());
  }
}

TEST(EnginePictures, RowsThatSeeEachOtherFitIntoTheStepOfAHotDevice) {
  Tower tower;
  tower.see_each_other = true;
  Driver driver = MakeDriver();
  driver.engine().SetThermalState(ThermalState::kCritical, 1);
  EXPECT_EQ(Answer(&driver, Ask(1, tower.Show(1))).choices.size(), 1u);
}

TEST(EnginePictures, MoreRowsThanAStepHasAreRefused) {
  Tower tower;
  tower.see_each_other = true;
  EngineOptions options = Driver::Options();
  options.prefill_chunk_size = 16;
  Driver driver = MakeDriver(options);
  Status refused = driver.Add(Ask(1, tower.Show(1)));
  EXPECT_EQ(refused.param(), "prefill_chunk_size") << refused.message();
  tower.see_each_other = false;
  EXPECT_EQ(Answer(&driver, Ask(2, tower.Show(1))).usage.prompt_tokens, 17);
}

TEST(EnginePictures, APictureLargerThanTheContextIsRefusedBeforeItIsEncoded) {
  Tower tower;
  Driver driver = MakeDriver();
  Status refused = driver.Add(Ask(1, tower.Show(1, 1000)));
  EXPECT_TRUE(refused.Is(Reason::kContextLengthExceeded)) << refused.message();
  EXPECT_EQ(tower.turns, 0);
}

}  // namespace
}  // namespace mlc
