#include "engine/scoring.h"

#include <gtest/gtest.h>

#include "engine/engine_driver.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::Driver;
using testing::kByteVocab;
using testing::MakeEngine;
using testing::Outcome;

const FakeModel::Script kScript = FakeModel::HashOfHistory(kByteVocab);

Request Scored(RequestId id, const std::string& prompt, int max_tokens) {
  Request request;
  request.id = id;
  request.prompt = Bytes(prompt);
  request.max_tokens = max_tokens;
  request.prompt_logprobs = true;
  request.sampling.logprobs = true;
  request.sampling.top_logprobs = 2;
  request.ignore_eos = true;
  return request;
}

// What the model says of each token of a text, without an engine.
void ExpectScores(const std::vector<GeneratedToken>& scores, const std::string& prompt) {
  std::vector<int32_t> tokens = Bytes(prompt), history;
  ASSERT_EQ(scores.size(), tokens.size()) << prompt;
  SamplerScratch scratch;
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(scores[i].id, tokens[i]);
    ASSERT_EQ(scores[i].logprobs.has_value(), i > 0) << "the first token has none";
    if (i > 0) {
      std::vector<float> logits(kByteVocab, 0.0f);
      kScript(history, logits.data());
      TokenLogprobs expected = ComputeLogprobs(logits.data(), kByteVocab, tokens[i], 2, &scratch);
      EXPECT_EQ(scores[i].logprobs->chosen, expected.chosen) << "token " << i;
      EXPECT_EQ(scores[i].logprobs->top, expected.top) << "token " << i;
    }
    history.push_back(tokens[i]);
  }
}

Outcome Ask(Driver* driver, const Request& request) {
  EXPECT_TRUE(driver->Add(request).ok());
  driver->Run();
  return driver->Take(request.id);
}

TEST(Scoring, APromptOfSeveralChunksIsScoredWhole) {
  EngineOptions options = Driver::Options();
  options.prefill_chunk_size = 7;
  Driver driver(MakeEngine(kScript, options));
  const std::string prompt = "the quick brown fox jumps over the lazy dog";
  Outcome outcome = Ask(&driver, Scored(1, prompt, 3));
  ExpectScores(outcome.prompt, prompt);
  EXPECT_EQ(outcome.choices[0].tokens.size(), 3u);
}

TEST(Scoring, TheAnswerIsTheSameAsWithout) {
  Driver driver(MakeEngine(kScript));
  Request request = Scored(1, "the quick brown fox", 9);
  Outcome scored = Ask(&driver, request);
  request.id = 2;
  request.prompt_logprobs = false;
  Outcome plain = Ask(&driver, request);
  EXPECT_EQ(scored.choices, plain.choices);
  EXPECT_TRUE(plain.prompt.empty());
}

TEST(Scoring, WhatThePrefixCacheHoldsIsScoredAllTheSame) {
  Driver driver(MakeEngine(kScript));
  const std::string prompt = "the quick brown fox";
  for (RequestId id = 1; id <= 2; ++id) {
    Outcome outcome = Ask(&driver, Scored(id, prompt, 2));
    ExpectScores(outcome.prompt, prompt);
    EXPECT_EQ(outcome.usage.cached_tokens, 0);
  }
  // ... and is there for those who want no scores.
  Request plain = Scored(3, prompt, 2);
  plain.prompt_logprobs = false;
  EXPECT_GT(Ask(&driver, plain).usage.cached_tokens, 0);
}

TEST(Scoring, NothingIsGeneratedWhenNothingIsAskedFor) {
  Driver driver(MakeEngine(kScript));
  for (const char* prompt : {"the quick brown fox", "x"}) {
    Request request = Scored(prompt[0], prompt, 0);
    request.n = 3;
    Outcome outcome = Ask(&driver, request);
    ExpectScores(outcome.prompt, prompt);
    EXPECT_EQ(outcome.choices.size(), 3u);
    for (const auto& [index, choice] : outcome.choices) {
      EXPECT_EQ(choice.text, "") << index;
      EXPECT_EQ(choice.finish, FinishReason::kLength) << index;
    }
    EXPECT_EQ(outcome.usage.completion_tokens, 0);
  }
  EXPECT_TRUE(driver.AllPagesFree());
}

TEST(Scoring, APromptAsLongAsTheContextIsScored) {
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 64;
  Driver driver(MakeEngine(kScript, options));
  const std::string prompt(static_cast<size_t>(driver.engine().max_length()), 'a');
  ExpectScores(Ask(&driver, Scored(1, prompt, 0)).prompt, prompt);
}

TEST(Scoring, APreemptedPromptIsScoredOnceAndWhole) {
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 64;
  options.prefill_chunk_size = 8;
  Driver driver(MakeEngine(kScript, options));
  const std::string prompt(40, 'b');
  ASSERT_TRUE(driver.Add(Scored(1, prompt, 2)).ok());
  driver.Step();
  Request first = Scored(2, std::string(30, 'c'), 12);
  first.priority = 50;
  ASSERT_TRUE(driver.Add(first).ok());
  driver.Run();
  EXPECT_GT(driver.engine().metrics().num_preemptions, 0);
  ExpectScores(driver.Take(1).prompt, prompt);
  ExpectScores(driver.Take(2).prompt, std::string(30, 'c'));
}

TEST(Scoring, AStepScoresNoMoreRowsThanFitItsBound) {
  EXPECT_EQ(MaxScoredRows(1 << 16), 256);
  EXPECT_EQ(MaxScoredRows(INT32_MAX), 1);
}

}  // namespace
}  // namespace mlc
