// What requests find of those before them, and that they answer as if they had found nothing.
#include <gtest/gtest.h>

#include "engine/engine_driver.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::Driver;
using testing::kByteVocab;
using testing::kEnd;
using testing::MakeEngine;
using testing::Outcome;
using testing::TestInfo;

Request Ask(RequestId id, std::vector<int32_t> prompt, int max_tokens) {
  Request request;
  request.id = id;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  request.ignore_eos = true;
  return request;
}

class PrefixReuse : public ::testing::Test {
 protected:
  Outcome Answer(Request request) {
    EXPECT_TRUE(driver_.Add(request).ok());
    driver_.Run();
    Outcome outcome = driver_.Take(request.id);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
    EXPECT_EQ(outcome.choices, Cold(request).choices);
    return outcome;
  }
  static Outcome Cold(const Request& request) {
    EngineOptions options = Driver::Options();
    options.prefix_cache = false;
    Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), options));
    EXPECT_TRUE(driver.Add(request).ok());
    driver.Run();
    EXPECT_EQ(driver.Take(request.id).usage.cached_tokens, 0);
    return driver.Take(request.id);
  }

  // A request ends with the step `fail_at`, and the same one later finds nothing of it.
  void ExpectThatNothingIsLeft(int fail_at, const ModelInfo& info) {
    FakeModel* model = nullptr;
    Driver driver(
        MakeEngine(FakeModel::HashOfHistory(kByteVocab), Driver::Options(), &model, nullptr, info));
    model->FailForward(fail_at, Internal("by the test"));
    Request request = Ask(1, Bytes("the quick brown fox"), 5);
    ASSERT_TRUE(driver.Add(request).ok());
    driver.Run();
    EXPECT_FALSE(driver.Take(1).status.ok());
    request.id = 2;
    ASSERT_TRUE(driver.Add(request).ok());
    driver.Run();
    EXPECT_EQ(driver.Take(2).usage.cached_tokens, 0);
    EXPECT_EQ(driver.Take(2).choices, Cold(request).choices);
  }
  Driver driver_{MakeEngine(FakeModel::HashOfHistory(kByteVocab))};
};

TEST_F(PrefixReuse, TheSamePromptAgain) {
  std::vector<int32_t> prompt = Bytes("the quick brown fox");
  EXPECT_EQ(Answer(Ask(1, prompt, 5)).usage.cached_tokens, 0);
  int64_t computed = driver_.engine().metrics().prefill_tokens;
  EXPECT_EQ(Answer(Ask(2, prompt, 5)).usage.cached_tokens, 18);
  EXPECT_EQ(driver_.engine().metrics().prefill_tokens, computed + 1);
}

TEST_F(PrefixReuse, WhatAnotherRequestIsReadingIsReadOnce) {
  std::vector<int32_t> first = Bytes(std::string(40, 's') + std::string(10, 'a')), second = first;
  second.resize(30);
  second.back() = 'b';
  EngineOptions options = Driver::Options();
  options.prefill_chunk_size = 21;  // a step has a row left, with which the second could begin
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), options));
  for (bool is_first : {true, false}) {
    Request request = is_first ? Ask(1, first, 5) : Ask(2, second, 5);
    ASSERT_TRUE(driver.Add(request).ok());
    driver.Step();
  }
  driver.Run();
  EXPECT_GE(driver.Take(2).usage.cached_tokens, 28);
  EXPECT_EQ(driver.Take(1).choices, Cold(Ask(1, first, 5)).choices);
  EXPECT_EQ(driver.Take(2).choices, Cold(Ask(2, second, 5)).choices);
}

class PinnedPrompts : public ::testing::Test {
 protected:
  static std::unique_ptr<Engine> Make(const ModelInfo& info = TestInfo(),
                                      bool prefix_cache = true) {
    EngineOptions options = Driver::Options();
    options.max_total_tokens = 128;
    options.prefix_cache = prefix_cache;
    return MakeEngine(FakeModel::HashOfHistory(kByteVocab), options, nullptr, nullptr, info);
  }
  static Request Pinned(RequestId id, std::vector<int32_t> prompt) {
    Request request = Ask(id, std::move(prompt), 4);
    request.pin_prompt = true;
    return request;
  }
};

TEST_F(PinnedPrompts, OneStaysWhateverComesAfterIt) {
  const std::vector<int32_t> prompt = Bytes(std::string(30, 's'));
  for (bool is_pinned : {true, false}) {
    Driver driver(Make());
    Request first = Ask(1, prompt, 4);
    first.pin_prompt = is_pinned;
    ASSERT_TRUE(driver.Add(first).ok());
    driver.Run();
    for (RequestId id = 2; id <= 6; ++id) {  // two of them take all the pages that are left
      ASSERT_TRUE(driver.Add(Ask(id, Bytes(std::string(50, static_cast<char>('a' + id))), 4)).ok());
      driver.Run();
      EXPECT_TRUE(driver.Take(id).status.ok());
    }
    driver.engine().ClearPrefixCache();
    ASSERT_TRUE(driver.Add(Ask(7, prompt, 4)).ok());
    driver.Run();
    EXPECT_EQ(driver.Take(7).usage.cached_tokens, is_pinned ? 28 : 0);
    EXPECT_EQ(driver.Take(7).choices, driver.Take(1).choices);
    driver.engine().UnpinPrompts();
    driver.engine().ClearPrefixCache();
    EXPECT_EQ(driver.engine().num_free_pages(), driver.engine().num_pages());
  }
}

TEST_F(PinnedPrompts, WhatCannotBePinnedIsRefused) {
  const char* param = "debug_config.pinned_system_prompt";
  Driver without(Make(TestInfo(), /*prefix_cache=*/false));
  Status off = without.Add(Pinned(1, Bytes("hello")));
  EXPECT_EQ(off.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(off.param(), param);
  ModelInfo recurrent = TestInfo();
  recurrent.state_bytes = FakeModel::StateBytes(recurrent);
  Driver with_states(Make(recurrent));
  Status unsupported = with_states.Add(Pinned(1, Bytes("hello")));
  EXPECT_EQ(unsupported.code(), StatusCode::kUnsupported);
  EXPECT_EQ(unsupported.param(), param);
  ModelInfo sliding = TestInfo();
  sliding.sliding_window_size = 16;
  Driver windowed(Make(sliding));
  EXPECT_TRUE(windowed.Add(Pinned(1, Bytes("hello"))).ok());
  EXPECT_EQ(windowed.Add(Pinned(2, Bytes("longer than the window"))).param(), param);
}

TEST_F(PinnedPrompts, TheyTakeHalfOfTheCacheAtMost) {
  Driver driver(Make());
  const std::vector<int32_t> first = Bytes(std::string(40, 'a')),
                             other = Bytes(std::string(30, 'b'));
  ASSERT_TRUE(driver.Add(Pinned(1, first)).ok());
  driver.Run();
  Status full = driver.Add(Pinned(2, other));
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(full.Is(Reason::kPinnedPromptsFull));
  EXPECT_TRUE(driver.Add(Pinned(3, first)).ok());  // it is pinned already
  driver.Run();
  driver.engine().UnpinPrompts();
  EXPECT_TRUE(driver.Add(Pinned(4, other)).ok());
}

TEST_F(PrefixReuse, AChatReusesWhatItSaid) {
  std::vector<int32_t> chat = Bytes("hello");
  int cached = 0;
  for (RequestId turn = 1; turn <= 4; ++turn) {
    Outcome outcome = Answer(Ask(turn, chat, 6));
    EXPECT_EQ(outcome.usage.cached_tokens, cached) << "turn " << turn;
    const std::vector<int32_t>& said = outcome.choices[0].tokens;
    chat.insert(chat.end(), said.begin(), said.end());
    cached = static_cast<int>(chat.size()) - 1;  // the last token was never computed
    chat.push_back('?');
  }
}

TEST_F(PrefixReuse, ARequestSharesWhatIsBeingComputed) {
  std::vector<int32_t> prompt = Bytes("a common system prompt");
  ASSERT_TRUE(driver_.Add(Ask(1, prompt, 20)).ok());
  driver_.Step();
  int free = driver_.engine().num_free_pages();
  prompt.push_back('!');
  EXPECT_EQ(Answer(Ask(2, prompt, 1)).usage.cached_tokens, 20);  // five full pages
  EXPECT_GT(driver_.engine().num_free_pages(), free - 20);
}

TEST_F(PrefixReuse, AnAbortedRequestLeavesWhatItComputed) {
  std::vector<int32_t> prompt = Bytes("the quick brown fox");
  ASSERT_TRUE(driver_.Add(Ask(1, prompt, 20)).ok());
  driver_.Step();
  driver_.engine().Abort(1, Cancelled("by the test"));
  EXPECT_EQ(Answer(Ask(2, prompt, 5)).usage.cached_tokens, 18);
}

TEST_F(PrefixReuse, AFailedStepLeavesNothing) { ExpectThatNothingIsLeft(0, TestInfo()); }

TEST_F(PrefixReuse, AFailureOfADeviceMayBeThatOfAnEarlierStepThatNobodyRead) {
  ModelInfo info = TestInfo();
  info.takes_cores = false;
  info.prefill_chunk_size = 8;
  ExpectThatNothingIsLeft(1, info);
}

TEST_F(PrefixReuse, AFailureOfADeviceAlsoEndsThoseWhoseStepsNobodyRead) {
  ModelInfo info = TestInfo();
  info.takes_cores = false;
  info.prefill_chunk_size = 8;
  EngineOptions options = Driver::Options();
  options.prefill_mode = PrefillMode::kChunked;  // a step has either prompts or decodes
  int num_both = 0;
  for (int fail_at = 0; fail_at < 6; ++fail_at) {
    FakeModel* model = nullptr;
    Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), options, &model, nullptr, info));
    Request decodes = Ask(1, Bytes("a"), 20);
    decodes.ignore_eos = true;
    ASSERT_TRUE(driver.Add(decodes).ok());
    driver.Step();
    ASSERT_TRUE(driver.Add(Ask(2, Bytes("the quick brown fox jumps over it"), 5)).ok());
    model->FailForward(fail_at, Internal("by the test"));
    driver.Run();
    bool first = driver.Take(1).status.ok(), second = driver.Take(2).status.ok();
    EXPECT_FALSE(first && second);
    num_both += !first && !second ? 1 : 0;
  }
  EXPECT_GE(num_both, 1);
}

TEST_F(PrefixReuse, AdaptersAreKeptApart) {
  std::vector<int32_t> prompt = Bytes("the quick brown fox");
  Answer(Ask(1, prompt, 5));
  Request other = Ask(2, prompt, 5);
  other.adapter = 7;
  EXPECT_EQ(Answer(other).usage.cached_tokens, 0);
}

TEST_F(PrefixReuse, ChoicesThatWaitTakeThePromptsPages) {
  EngineOptions options = Driver::Options();
  options.max_sequences = 2;
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), options));
  Request request = Ask(1, Bytes("the quick brown fox"), 5);
  request.n = 6;
  request.sampling.temperature = 1;
  ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(1).choices, Cold(request).choices);
  EXPECT_LE(driver.engine().metrics().prefill_tokens, 19 + 4 * 3);  // 16 of 19 are in full pages
}

TEST_F(PrefixReuse, APreemptedSequenceFindsItsPagesAgain) {
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 64;
  options.max_sequences = 2;
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), options));
  std::vector<Request> requests = {Ask(1, Bytes("first prompt"), 30), Ask(2, Bytes("second"), 40)};
  for (const Request& request : requests) ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  const Metrics metrics = driver.engine().metrics();
  EXPECT_GE(metrics.num_preemptions, 1);
  for (const Request& request : requests) {
    EXPECT_EQ(driver.Take(request.id).choices, Cold(request).choices);
  }
  EXPECT_LT(metrics.prefill_tokens, 18 + 30);
}

TEST_F(PrefixReuse, ClearingFreesAllPages) {
  Answer(Ask(1, Bytes("the quick brown fox"), 5));
  EXPECT_LT(driver_.engine().num_free_pages(), driver_.engine().num_pages());
  EXPECT_EQ(driver_.engine().metrics().num_free_pages, driver_.engine().num_pages());
  EXPECT_TRUE(driver_.AllPagesFree());
  EXPECT_EQ(Answer(Ask(2, Bytes("the quick brown fox"), 5)).usage.cached_tokens, 0);
}

// ---- Sliding windows ---------------------------------------------------------------------------

// Rows see the last 10 tokens and the first 3.
std::unique_ptr<Engine> MakeSliding(EngineOptions options) {
  ModelInfo info = TestInfo();
  info.sliding_window_size = 10;
  info.attention_sink_size = 3;
  auto model = std::make_unique<FakeModel>(info, FakeModel::HashOfHistory(kByteVocab));
  auto engine = Engine::Create(std::move(model), testing::ByteTokenizer(), options);
  MLC_ICHECK(engine.ok());
  return std::move(engine).value();
}

std::unique_ptr<Engine> MakeSliding(int pages, bool prefix_cache = true) {
  EngineOptions options = Driver::Options();
  options.max_total_tokens = pages * 4;
  options.prefix_cache = prefix_cache;
  return MakeSliding(options);
}

TEST(SlidingWindow, AnAnswerGoesOnPastThePoolAndTheContext) {
  std::vector<int32_t> prompt = Bytes("a prompt that is longer than the whole pool");
  Driver driver(MakeSliding(/*pages=*/5));  // 20 tokens; the context window is 64
  ASSERT_TRUE(driver.Add(Ask(1, prompt, 500)).ok());
  driver.Run();
  Outcome outcome = driver.Take(1);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.choices[0].tokens.size(), 500u);
  Driver roomy(MakeSliding(/*pages=*/200, /*prefix_cache=*/false));
  ASSERT_TRUE(roomy.Add(Ask(1, prompt, 500)).ok());
  roomy.Run();
  EXPECT_EQ(roomy.Take(1).choices, outcome.choices);
  EXPECT_TRUE(driver.AllPagesFree());
}

// Whatever is left over of a prompt, a page that is begun takes its next row.
TEST(SlidingWindow, TheSmallestPoolTakesPromptsOfAnyLength) {
  for (int length = 1; length <= 80; ++length) {
    for (int chunk : {1, 3, 4, 7, 64}) {
      EngineOptions options = Driver::Options();
      options.max_total_tokens = 20;
      options.prefill_chunk_size = chunk;
      Driver driver(MakeSliding(options));
      ASSERT_TRUE(driver.Add(Ask(1, std::vector<int32_t>(length, 'x'), 9)).ok());
      driver.Run();
      ASSERT_TRUE(driver.Take(1).status.ok()) << length << " tokens in chunks of " << chunk;
    }
  }
}

TEST(SlidingWindow, APoolWithoutRoomForAWindowBoundsTheContext) {
  Driver driver(MakeSliding(/*pages=*/4));  // a page of sinks and four of window do not fit
  EXPECT_EQ(driver.engine().max_length(), 16);
}

TEST(SlidingWindow, AContextThatIsSetHolds) {
  EngineOptions options = Driver::Options();
  options.context_window_size = 40;
  Driver driver(MakeSliding(options));
  ASSERT_TRUE(driver.Add(Ask(1, Bytes("hello"), 500)).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(1).choices[0].tokens.size(), 35u);
}

TEST(SlidingWindow, ALongChatIsFoundByItsLastWindow) {
  Driver driver(MakeSliding(/*pages=*/40)), cold(MakeSliding(/*pages=*/40, false));
  std::vector<int32_t> chat = Bytes("hello");
  for (RequestId turn = 1; turn <= 8; ++turn) {
    for (Driver* each : {&driver, &cold}) {
      ASSERT_TRUE(each->Add(Ask(turn, chat, 20)).ok());
      each->Run();
    }
    Outcome outcome = driver.Take(turn);
    EXPECT_EQ(outcome.choices, cold.Take(turn).choices);
    // All but the last token said, which was never computed, and the one that follows.
    if (turn > 1) EXPECT_EQ(outcome.usage.cached_tokens, static_cast<int>(chat.size()) - 2);
    const std::vector<int32_t>& said = outcome.choices[0].tokens;
    chat.insert(chat.end(), said.begin(), said.end());
    chat.push_back('?');
  }
}

}  // namespace
}  // namespace mlc
