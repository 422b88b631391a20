#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/engine_driver.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::ChoiceOutcome;
using testing::Driver;
using testing::kByteVocab;
using testing::kEnd;
using testing::MakeEngine;
using testing::Outcome;
using testing::TestInfo;

Request Ask(RequestId id, const std::string& prompt, int max_tokens = -1) {
  Request request;
  request.id = id;
  request.prompt = Bytes(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  request.stop_token_ids = {kEnd};
  return request;
}

FakeModel::Script Hash() { return FakeModel::HashOfHistory(kByteVocab); }

FakeModel::Script SayAfter(const std::string& prompt, const std::string& reply) {
  return FakeModel::Reply(static_cast<int>(prompt.size()), Bytes(reply), kEnd);
}

TEST(Engine, AnswersUntilTheStopToken) {
  Driver driver(MakeEngine(SayAfter("Hi", "hello")));
  ASSERT_TRUE(driver.Add(Ask(1, "Hi")).ok());
  driver.Run();
  Outcome outcome = driver.Take(1);
  EXPECT_EQ(outcome.choices[0].text, "hello");
  EXPECT_EQ(outcome.choices[0].tokens, Bytes("hello"));  // the stop token is left out
  EXPECT_EQ(outcome.choices[0].finish, FinishReason::kStop);
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_EQ(outcome.usage.prompt_tokens, 2);
  EXPECT_EQ(outcome.usage.completion_tokens, 6);  // it counts
  EXPECT_GE(outcome.usage.end_to_end_s, outcome.usage.ttft_s);
  EXPECT_TRUE(driver.AllPagesFree());
  EXPECT_EQ(driver.engine().metrics().num_finished, 1);
}

struct Ending {
  const char* name;
  const char* reply;
  std::vector<std::string> stops;
  int max_tokens;
  bool ignore_eos;
  const char* text;
  FinishReason finish;
};

TEST(Engine, EndsAnAnswer) {
  const FinishReason stop = FinishReason::kStop, length = FinishReason::kLength;
  const Ending endings[] = {
      {"max_tokens", "abcdef", {}, 3, false, "abc", length},
      {"max_tokens of one", "abcdef", {}, 1, false, "a", length},
      {"the stop token just in time", "abc", {}, 4, false, "abc", stop},
      {"the stop token too late", "abc", {}, 3, false, "abc", length},
      {"a stop string", "abcdef", {"cd"}, -1, false, "ab", stop},
      {"the first of two stop strings", "abcdef", {"ef", "bc"}, -1, false, "a", stop},
      {"a stop string at once", "abcdef", {"a"}, -1, false, "", stop},
      {"a stop string with the last token", "abcd", {"cd"}, 4, false, "ab", stop},
      {"half a stop string is text", "abcd", {"de"}, 4, false, "abcd", length},
      {"half a stop string, then the end", "abcd", {"de"}, -1, false, "abcd", stop},
      {"half a code point", "a\xc3\xa9\xc3", {}, 4, false, "a\xc3\xa9\xef\xbf\xbd", length},
      {"a stop string that the decoder held back", "a\xc3", {"\xef\xbf\xbd"}, 2, false, "a", stop},
      {"no stop token wanted", "abc", {}, 5, true, "abc", length},
      {"the context", "0123456789", {}, -1, true, "0123456789", length}};
  for (const Ending& ending : endings) {
    bool fills_context = std::string(ending.name) == "the context";
    EngineOptions options = Driver::Options();
    if (fills_context) options.context_window_size = 12;
    Driver driver(MakeEngine(SayAfter("Hi", ending.reply), options));
    Request request = Ask(1, "Hi", ending.max_tokens);
    request.stop_strings = ending.stops;
    request.ignore_eos = ending.ignore_eos;
    ASSERT_TRUE(driver.Add(request).ok());
    driver.Run();
    Outcome outcome = driver.Take(1);
    EXPECT_EQ(outcome.choices[0].text, ending.text) << ending.name;
    EXPECT_EQ(outcome.choices[0].finish, ending.finish) << ending.name;
    EXPECT_TRUE(driver.AllPagesFree()) << ending.name;
  }
}

TEST(Engine, ThePoolBoundsTheContextToo) {
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 10;  // three pages of four
  Driver driver(MakeEngine(Hash(), options));
  EXPECT_EQ(driver.engine().max_length(), 12);
  Request request = Ask(1, "12345");
  request.ignore_eos = true;
  ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(1).choices[0].tokens.size(), 7u);
  options.max_total_tokens = 0;
  EXPECT_FALSE(Engine::Create(std::make_unique<FakeModel>(TestInfo(), Hash()),
                              testing::ByteTokenizer(), options)
                   .ok());
}

TEST(Engine, RefusesWhatCanNeverRun) {
  Driver driver(MakeEngine(Hash()));
  EXPECT_EQ(driver.Add(Ask(1, "")).code(), StatusCode::kInvalidArgument);
  std::string fits(static_cast<size_t>(driver.engine().max_length()) - 1, 'x');
  EXPECT_TRUE(driver.Add(Ask(2, fits)).ok());
  Status too_long = driver.Add(Ask(3, fits + "x"));
  EXPECT_TRUE(too_long.Is(Reason::kContextLengthExceeded));
  for (int32_t token : {-1, kByteVocab}) {
    Request request = Ask(4, "x");
    request.prompt.Append({token});
    EXPECT_EQ(driver.Add(request).code(), StatusCode::kInvalidArgument) << token;
  }
  driver.Run();
  EXPECT_EQ(driver.Take(2).choices[0].tokens.size(), 1u);
}

TEST(Engine, TheQueueHasALimit) {
  EngineOptions options = Driver::Options();
  options.max_queued_requests = 2;
  Driver driver(MakeEngine(Hash(), options));
  EXPECT_TRUE(driver.Add(Ask(1, "a", 2)).ok());
  EXPECT_TRUE(driver.Add(Ask(2, "b", 2)).ok());
  Status full = driver.Add(Ask(3, "c", 2));
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(full.Is(Reason::kQueueFull));
  driver.Run();
  EXPECT_TRUE(driver.Add(Ask(4, "d", 2)).ok());
  driver.Run();
  for (RequestId id : {1, 2, 4}) EXPECT_TRUE(driver.Take(id).status.ok());
}

TEST(Engine, ChoicesDifferBySeedAndShareThePrompt) {
  Driver driver(MakeEngine(Hash()));
  Request request = Ask(1, "a prompt of some length", 10);
  request.n = 3;
  request.sampling.temperature = 1.5;
  request.sampling.seed = 5;
  ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  Outcome outcome = driver.Take(1);
  ASSERT_EQ(outcome.choices.size(), 3u);
  EXPECT_NE(outcome.choices[0].tokens, outcome.choices[1].tokens);
  EXPECT_NE(outcome.choices[1].tokens, outcome.choices[2].tokens);
  // The prompt was computed once.
  EXPECT_EQ(driver.engine().metrics().prefill_tokens, 23);
  // Choice i is what a request with the seed of choice i gets.
  request.n = 1;
  request.id = 2;
  request.sampling.seed = 7;
  ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(2).choices[0].tokens, outcome.choices[2].tokens);
}

TEST(Engine, MoreChoicesThanSequencesWaitTheirTurn) {
  Request request = Ask(1, "a prompt", 12);
  request.n = 9;
  request.sampling.temperature = 1;
  Driver wide(MakeEngine(Hash()));
  ASSERT_TRUE(wide.Add(request).ok());
  wide.Run();
  EngineOptions narrow_options = Driver::Options();
  narrow_options.max_sequences = 2;
  Driver narrow(MakeEngine(Hash(), narrow_options));
  ASSERT_TRUE(narrow.Add(request).ok());
  narrow.Run();
  Outcome expected = wide.Take(1);
  EXPECT_EQ(narrow.Take(1).choices, expected.choices);
  EXPECT_EQ(expected.choices.size(), 9u);
  EXPECT_TRUE(narrow.AllPagesFree());
}

TEST(Engine, AShortRequestDoesNotWaitForLongOnes) {
  constexpr RequestId kLong = 12, kShort = 13;
  for (bool prefix_cache : {true, false}) {
    EngineOptions options = Driver::Options();
    options.max_sequences = 4;
    options.max_total_tokens = 16384;
    options.prefix_cache = prefix_cache;
    ModelInfo info = testing::TestInfo();
    info.context_window_size = 2048;
    Driver driver(MakeEngine(Hash(), options, nullptr, nullptr, info));
    Driver alone(MakeEngine(Hash(), options, nullptr, nullptr, info));
    auto ask = [](RequestId id) {
      Request request = Ask(id, std::to_string(id) + " prompt", id == kShort ? 4 : 800);
      request.ignore_eos = true;
      return request;
    };
    for (RequestId id = 1; id <= kLong; ++id) ASSERT_TRUE(driver.Add(ask(id)).ok());
    for (int step = 0; step < 100; ++step) driver.Step();
    ASSERT_TRUE(driver.Add(ask(kShort)).ok());
    int steps = 0;
    while (driver.outcomes().count(kShort) == 0 || driver.outcomes().at(kShort).num_ends == 0) {
      driver.Step();
      ASSERT_LT(++steps, 10000);
    }
    // Without a prefix cache it waits for eight long ones and a part of the first four.
    EXPECT_TRUE(prefix_cache ? steps < 2 * kTurnTokens : steps > 2 * 800) << steps;
    driver.Run();
    for (RequestId id = 1; id <= kShort; ++id) {
      ASSERT_TRUE(alone.Add(ask(id)).ok());
      alone.Run();
      EXPECT_EQ(driver.Take(id).choices, alone.Take(id).choices) << id;
    }
  }
}

TEST(Engine, LogprobsAreThoseOfTheModel) {
  Driver driver(MakeEngine(SayAfter("Hi", "ab")));
  Request request = Ask(1, "Hi", 2);
  request.sampling.logprobs = true;
  request.sampling.top_logprobs = 2;
  request.sampling.logit_bias = {{'z', 100.0f}};  // changes the choice, not the probability
  ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  const std::vector<GeneratedToken>& tokens = driver.Take(1).generated;
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].id, 'z');
  double log_total = std::log(std::exp(10.0) + kByteVocab - 1);
  EXPECT_NEAR(tokens[0].logprobs->chosen, -log_total, 1e-4);
  EXPECT_EQ(tokens[0].logprobs->top[0].first, 'a');
  EXPECT_NEAR(tokens[0].logprobs->top[0].second, 10 - log_total, 1e-4);
  EXPECT_EQ(tokens[0].logprobs->top.size(), 2u);
}

TEST(Engine, PenaltiesCountTheAnswerAlone) {
  // "z" is always the likeliest by one; a presence penalty of two forbids to say it twice.
  Driver driver(MakeEngine([](const std::vector<int32_t>& history, float* logits) {
    logits['z'] = 2;
    logits['a' + history.size() % 20] = 1;
  }));
  Request request = Ask(1, "zzz", 3);
  request.sampling.presence_penalty = 2;
  ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(1).choices[0].text, "zef");
}

// The model's logits may be wider than the tokenizer's vocabulary: padding is never sampled.
TEST(Engine, TokensThatTheTokenizerLacksAreNeverChosen) {
  ModelInfo info = TestInfo();
  info.vocab_size = kByteVocab + 30;
  auto model = std::make_unique<FakeModel>(info, [](const auto&, float* logits) {
    logits[kByteVocab + 7] = 50;
    logits['q'] = 1;
  });
  Driver driver(*Engine::Create(std::move(model), testing::ByteTokenizer(), Driver::Options()));
  ASSERT_TRUE(driver.Add(Ask(1, "x", 3)).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(1).choices[0].text, "qqq");
}

TEST(Engine, APreemptedRequestGoesAheadOfThoseThatWait) {
  EngineOptions options = Driver::Options();
  options.max_sequences = 2;
  options.max_total_tokens = 32;
  Driver driver(MakeEngine(Hash(), options));
  for (RequestId id = 1; id <= 3; ++id) {
    Request request = Ask(id, std::to_string(id) + "prompt", id == 3 ? 1 : 20);
    request.ignore_eos = true;
    ASSERT_TRUE(driver.Add(request).ok());
  }
  for (int step = 0; driver.engine().metrics().num_preemptions == 0; ++step) {
    ASSERT_LT(step, 200);
    driver.Step();
  }
  for (int step = 0; driver.outcomes().at(2).num_ends == 0; ++step) {
    ASSERT_LT(step, 200);
    ASSERT_EQ(driver.outcomes().count(3), 0u) << "the third began before the second ended";
    driver.Step();
    if (driver.outcomes().at(1).num_ends > 0) break;  // there is room for both again
  }
  driver.Run();
  for (RequestId id = 1; id <= 3; ++id) EXPECT_TRUE(driver.Take(id).status.ok());
}

// ---- Grammars ----------------------------------------------------------------------------------

// The answer of a model that would say anything, held to JSON.
ChoiceOutcome JsonAnswer(const std::vector<int32_t>& stop_tokens, bool ignore_eos) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, stop_tokens);
  // Closing is the likeliest; among what else is allowed the lowest id, a space, comes first.
  Driver driver(MakeEngine([](const auto&, float* logits) {
    for (int32_t token : {int32_t{'}'}, kEnd}) logits[token] = 5;
    logits['{'] = 4;
  }));
  Request request = Ask(1, "JSON, please", 20);
  request.stop_token_ids = stop_tokens;
  request.ignore_eos = ignore_eos;
  request.grammar = *compiler.CompileJsonObject();
  EXPECT_TRUE(driver.Add(request).ok());
  driver.Run();
  Outcome outcome = driver.Take(1);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  return outcome.choices[0];
}

TEST(Engine, AGrammarEndsTheAnswer) {
  EXPECT_EQ(JsonAnswer({kEnd}, /*ignore_eos=*/false),
            (ChoiceOutcome{"{}", Bytes("{}"), FinishReason::kStop}));
}

// Nothing may follow the end of a grammar, though the request does not care for stop tokens or
// the model has none.
TEST(Engine, AGrammarEndsTheAnswerWithoutStopTokensToo) {
  std::vector<int32_t> with_end = {'{', '}', kEnd};
  EXPECT_EQ(JsonAnswer({kEnd}, /*ignore_eos=*/true),
            (ChoiceOutcome{"{}", with_end, FinishReason::kStop}));
  EXPECT_EQ(JsonAnswer({}, /*ignore_eos=*/false),
            (ChoiceOutcome{"{}", Bytes("{}"), FinishReason::kStop}));
}

TEST(Engine, AGrammarThatLeavesNoTokenEndsItsRequestAlone) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  Driver driver(MakeEngine([](const std::vector<int32_t>& history, float* logits) {
    bool must_be_json = history.front() == 'j';
    std::fill(logits, logits + kByteVocab, must_be_json ? -INFINITY : 0.0f);
    logits['x'] = 1;
  }));
  Request impossible = Ask(1, "json", 5);
  impossible.grammar = *compiler.CompileJsonObject();
  ASSERT_TRUE(driver.Add(impossible).ok());
  ASSERT_TRUE(driver.Add(Ask(2, "text", 5)).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(1).status.code(), StatusCode::kInternal);
  EXPECT_EQ(driver.Take(2).choices[0].text, "xxxxx");
}

// ---- Failures ----------------------------------------------------------------------------------

TEST(Engine, AFailedStepEndsItsRequestsAndNoOthers) {
  for (int fail_at = 0; fail_at < 12; ++fail_at) {
    FakeModel* model;
    EngineOptions options = Driver::Options();
    options.max_sequences = 2;
    Driver driver(MakeEngine(Hash(), options, &model));
    model->FailForward(fail_at, Internal("device lost"));
    for (RequestId id = 1; id <= 6; ++id) {
      Request request = Ask(id, std::string(id, 'p'), 4);
      request.ignore_eos = true;
      ASSERT_TRUE(driver.Add(request).ok());
    }
    driver.Run();
    int failed = 0;
    for (RequestId id = 1; id <= 6; ++id) {
      Outcome outcome = driver.Take(id);
      if (!outcome.status.ok()) {
        ++failed;
        EXPECT_EQ(outcome.status.message(), "device lost");
        continue;
      }
      EXPECT_EQ(outcome.choices[0].tokens.size(), 4u);
    }
    EXPECT_GE(failed, 1);
    EXPECT_LE(failed, 2);
    EXPECT_TRUE(driver.AllPagesFree());
    EXPECT_EQ(driver.engine().metrics().num_failed, failed);
  }
}

TEST(Engine, ARowThatIsNoDistributionEndsItsRequestAlone) {
  Driver driver(MakeEngine([](const std::vector<int32_t>& history, float* logits) {
    FakeModel::HashOfHistory(kByteVocab)(history, logits);
    bool is_bad = history.front() == 'b' && history.size() >= 5;
    if (is_bad) logits[3] = std::numeric_limits<float>::quiet_NaN();
  }));
  for (RequestId id = 1; id <= 3; ++id) {
    Request request = Ask(id, id == 2 ? "bad" : "good", 6);
    request.ignore_eos = true;
    request.n = 2;
    request.sampling.temperature = 1;
    ASSERT_TRUE(driver.Add(request).ok());
  }
  driver.Run();
  EXPECT_EQ(driver.Take(2).status.code(), StatusCode::kInternal);
  for (RequestId id : {1, 3}) {
    Outcome outcome = driver.Take(id);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
    for (const auto& [index, choice] : outcome.choices)
      EXPECT_EQ(choice.tokens.size(), 6u) << index;
  }
  EXPECT_TRUE(driver.AllPagesFree());
}

TEST(Engine, AbortEndsOnceWithItsStatus) {
  Driver driver(MakeEngine(Hash()));
  for (RequestId id = 1; id <= 6; ++id) {
    Request request = Ask(id, "prompt", 20);
    request.n = 2;
    request.ignore_eos = true;
    ASSERT_TRUE(driver.Add(request).ok());
  }
  driver.engine().Abort(6, Cancelled("waiting"));
  for (int step = 0; step < 3; ++step) driver.Step();
  driver.engine().Abort(1, Cancelled("running"));
  driver.engine().Abort(1, Cancelled("again"));
  driver.engine().Abort(77, Cancelled("unknown"));
  driver.Run();
  EXPECT_EQ(driver.Take(6).status.message(), "waiting");
  EXPECT_EQ(driver.Take(1).status.message(), "running");
  for (RequestId id = 2; id <= 5; ++id) EXPECT_TRUE(driver.Take(id).status.ok());
  EXPECT_TRUE(driver.AllPagesFree());
}

TEST(Engine, AbortAllLeavesNothing) {
  Driver driver(MakeEngine(Hash()));
  for (RequestId id = 1; id <= 9; ++id) ASSERT_TRUE(driver.Add(Ask(id, "prompt", 9)).ok());
  driver.Step();
  driver.engine().AbortAll(Unavailable("gone"));
  EXPECT_FALSE(driver.engine().has_work());
  driver.Run();
  for (RequestId id = 1; id <= 9; ++id) EXPECT_EQ(driver.Take(id).status.message(), "gone");
  EXPECT_TRUE(driver.AllPagesFree());
  ASSERT_TRUE(driver.Add(Ask(10, "prompt", 2)).ok());
  driver.Run();
  EXPECT_TRUE(driver.Take(10).status.ok());
}

}  // namespace
}  // namespace mlc
