// Prompts with embedding rows: what is computed, found, saved and taken back is as with tokens.
#include <gtest/gtest.h>

#include "engine/engine_driver.h"
#include "support/embedding_rows.h"

namespace mlc {
namespace {

using testing::Driver;
using testing::kByteVocab;
using testing::MakeEngine;
using testing::Outcome;
using testing::Rows;

// Tokens, a picture of ten rows, tokens: 17 rows.
Prompt WithPicture(int picture, std::vector<RotaryPosition> positions = {}) {
  Prompt prompt({'s', 'e', 'e'});
  prompt.Append(Rows(picture, 10, std::move(positions)));
  prompt.Append({'w', 'h', 'a', 't'});
  return prompt;
}

Request Ask(RequestId id, Prompt prompt, int max_tokens) {
  Request request;
  request.id = id;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  request.ignore_eos = true;
  return request;
}

Outcome Answer(Driver* driver, const Request& request) {
  Status added = driver->Add(request);
  EXPECT_TRUE(added.ok()) << added.message();
  driver->Run();
  Outcome outcome = driver->Take(request.id);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  return outcome;
}

EngineOptions Cold(int chunk = 64) {
  EngineOptions options = Driver::Options();
  options.prefix_cache = false;
  options.prefill_chunk_size = chunk;
  return options;
}

Outcome AnswerCold(const Request& request, int chunk = 64) {
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), Cold(chunk)));
  return Answer(&driver, request);
}

TEST(PromptRows, TheAnswerDependsOnTheRows) {
  Outcome first = AnswerCold(Ask(1, WithPicture(1), 8));
  EXPECT_EQ(first.usage.prompt_tokens, 17);
  EXPECT_EQ(AnswerCold(Ask(1, WithPicture(1), 8)).choices, first.choices);
  EXPECT_NE(AnswerCold(Ask(1, WithPicture(2), 8)).choices, first.choices);
  std::vector<RotaryPosition> square;
  for (int i = 0; i < 10; ++i) square.push_back({0, i / 5, i % 5});
  EXPECT_NE(AnswerCold(Ask(1, WithPicture(1, square), 8)).choices, first.choices);
}

TEST(PromptRows, ChunksSplitASpan) {
  std::vector<RotaryPosition> square;
  for (int i = 0; i < 10; ++i) square.push_back({0, i / 5, i % 5});
  for (const Prompt& prompt : {WithPicture(1), WithPicture(1, square)}) {
    Outcome whole = AnswerCold(Ask(1, prompt, 8));
    for (int chunk : {1, 2, 3, 5, 7, 16}) {
      EXPECT_EQ(AnswerCold(Ask(1, prompt, 8), chunk).choices, whole.choices) << chunk;
    }
  }
}

TEST(PromptRows, TheSamePictureIsFoundAnotherIsNot) {
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab)));
  EXPECT_EQ(Answer(&driver, Ask(1, WithPicture(1), 5)).usage.cached_tokens, 0);
  Outcome again = Answer(&driver, Ask(2, WithPicture(1), 5));
  EXPECT_EQ(again.usage.cached_tokens, 16) << "all but the last row";
  EXPECT_EQ(again.choices, AnswerCold(Ask(2, WithPicture(1), 5)).choices);
  Outcome other = Answer(&driver, Ask(3, WithPicture(2), 5));
  EXPECT_EQ(other.usage.cached_tokens, 3) << "the tokens before the picture";
  EXPECT_EQ(other.choices, AnswerCold(Ask(3, WithPicture(2), 5)).choices);
  // Positions belong to what is computed, too.
  std::vector<RotaryPosition> still(10, RotaryPosition{0, 0, 0});
  EXPECT_EQ(Answer(&driver, Ask(4, WithPicture(1, still), 5)).usage.cached_tokens, 3);
}

TEST(PromptRows, APreemptedSequenceComputesThemAgain) {
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 64;
  options.max_sequences = 2;
  for (bool prefix_cache : {true, false}) {
    options.prefix_cache = prefix_cache;
    Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), options));
    std::vector<Request> requests = {Ask(1, WithPicture(1), 26), Ask(2, WithPicture(2), 40)};
    for (const Request& request : requests) ASSERT_TRUE(driver.Add(request).ok());
    driver.Run();
    EXPECT_GE(driver.engine().metrics().num_preemptions, 1);
    for (const Request& request : requests) {
      EXPECT_EQ(driver.Take(request.id).choices, AnswerCold(request).choices);
    }
    EXPECT_TRUE(driver.AllPagesFree());
  }
}

TEST(PromptRows, RowsOfAnotherWidthAreRefused) {
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab)));
  Prompt wide({1});
  wide.Append(*EmbeddingRows::Make(std::vector<float>(8, 1.0f), 8));
  EXPECT_EQ(driver.Add(Ask(1, wide, 5)).code(), StatusCode::kInvalidArgument);
  Request scored = Ask(1, WithPicture(1), 5);
  scored.prompt_logprobs = true;
  EXPECT_EQ(driver.Add(scored).code(), StatusCode::kUnsupported) << "rows are no tokens";
  ModelInfo info = testing::TestInfo();
  info.embedding_size = 0;
  auto model = std::make_unique<FakeModel>(info, FakeModel::HashOfHistory(kByteVocab));
  auto engine = Engine::Create(std::move(model), testing::ByteTokenizer(), Driver::Options());
  ASSERT_TRUE(engine.ok());
  Status refused = (*engine)->Add(Ask(1, WithPicture(1), 5));
  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_NE(refused.message().find("'fake'"), std::string::npos) << refused.message();
}

}  // namespace
}  // namespace mlc
