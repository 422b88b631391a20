// A model with recurrent layers answers as one without, whatever becomes of its states. The fake
// model itself fails a step whose state is not that of the row's history.
#include <gtest/gtest.h>

#include <random>

#include "engine/engine_driver.h"
#include "support/embedding_rows.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::Driver;
using testing::kByteVocab;
using testing::kEnd;
using testing::MakeEngine;
using testing::Outcome;

ModelInfo RecurrentInfo(int chunk = testing::TestInfo().prefill_chunk_size) {
  ModelInfo info = testing::TestInfo();
  info.prefill_chunk_size = chunk;
  info.state_bytes = FakeModel::StateBytes(info);
  return info;
}

std::unique_ptr<Engine> MakeRecurrent(
    const EngineOptions& options = Driver::Options(),
    FakeModel::Script script = FakeModel::HashOfHistory(kByteVocab),
    const ModelInfo& info = RecurrentInfo()) {
  auto model = std::make_unique<FakeModel>(info, std::move(script));
  auto engine = Engine::Create(std::move(model), testing::ByteTokenizer(), options);
  MLC_ICHECK(engine.ok());
  return std::move(engine).value();
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

// What a model without states says, alone and with nothing cached.
Outcome Plain(const Request& request) {
  EngineOptions options = Driver::Options();
  options.prefix_cache = false;
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), options));
  EXPECT_TRUE(driver.Add(request).ok());
  driver.Run();
  return driver.Take(request.id);
}

Outcome Answer(Driver* driver, const Request& request) {
  EXPECT_TRUE(driver->Add(request).ok());
  driver->Run();
  Outcome outcome = driver->Take(request.id);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.choices, Plain(request).choices);
  return outcome;
}

TEST(Recurrent, ChunksOfAnySize) {
  for (int chunk : {1, 3, 4, 5, 8, 64}) {
    EngineOptions options = Driver::Options();
    options.prefill_chunk_size = chunk;
    Driver driver(MakeRecurrent(options));
    Answer(&driver, Ask(1, Bytes("the quick brown fox jumps"), 20));
    Answer(&driver, Ask(2, Bytes("the quick brown fox walks"), 20));
    EXPECT_TRUE(driver.AllPagesFree());
  }
}

TEST(Recurrent, ChoicesForkTheState) {
  for (int max_sequences : {2, 8}) {  // fewer than choices: the others compute the prompt again
    EngineOptions options = Driver::Options();
    options.max_sequences = max_sequences;
    Driver driver(MakeRecurrent(options));
    Request request = Ask(1, Bytes("the quick brown fox"), 12);
    request.n = 6;
    request.sampling.temperature = 1;
    Answer(&driver, request);
  }
}

TEST(Recurrent, TheSamePromptFindsItsLastPagesEnd) {
  Driver driver(MakeRecurrent());
  std::vector<int32_t> prompt = Bytes("the quick brown fox");  // 19
  EXPECT_EQ(Answer(&driver, Ask(1, prompt, 5)).usage.cached_tokens, 0);
  EXPECT_EQ(Answer(&driver, Ask(2, prompt, 5)).usage.cached_tokens, 16);
  prompt[17] = '?';
  EXPECT_EQ(Answer(&driver, Ask(3, prompt, 5)).usage.cached_tokens, 16);
  prompt[3] = '?';
  EXPECT_EQ(Answer(&driver, Ask(4, prompt, 5)).usage.cached_tokens, 0);
}

TEST(Recurrent, KeptStatesDoNotDependOnTheRowsOfSteps) {
  std::vector<int32_t> prompt = Bytes("the quick brown fox jumps over the lazy dog");  // 43
  for (int chunk : {3, 5, 8, 64}) {
    EngineOptions options = Driver::Options();
    options.prefill_chunk_size = chunk;
    // states are kept after as many rows as the model's steps can have, in whole pages of 4
    ModelInfo info = RecurrentInfo(15);
    Driver driver(MakeRecurrent(options, FakeModel::HashOfHistory(kByteVocab), info));
    Answer(&driver, Ask(1, prompt, 2));
    for (int common : {39, 33, 31, 17}) {
      std::vector<int32_t> other = prompt;
      other[static_cast<size_t>(common)] = '?';
      int cached = Answer(&driver, Ask(100 + common, other, 2)).usage.cached_tokens;
      EXPECT_EQ(cached, common / 16 * 16) << chunk << " " << common;
    }
  }
}

TEST(Recurrent, AChatFindsWhereItStopped) {
  Driver driver(MakeRecurrent());
  std::vector<int32_t> chat = Bytes("hello");
  int cached = 0;
  for (RequestId turn = 1; turn <= 5; ++turn) {
    Outcome outcome = Answer(&driver, Ask(turn, chat, 6));
    EXPECT_EQ(outcome.usage.cached_tokens, cached) << "turn " << turn;
    const std::vector<int32_t>& said = outcome.choices[0].tokens;
    chat.insert(chat.end(), said.begin(), said.end());
    cached = static_cast<int>(chat.size()) - 1;  // the last token was never computed
    chat.push_back('?');
  }
}

TEST(Recurrent, PreemptedSequencesAndPicturesBeginAgain) {
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 64;
  options.max_sequences = 2;
  Driver driver(MakeRecurrent(options));
  Prompt picture({'s', 'e', 'e'});
  picture.Append(testing::Rows(1, 9));
  std::vector<Request> requests = {Ask(1, Bytes("first prompt"), 30), Ask(2, picture, 40)};
  for (const Request& request : requests) ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  EXPECT_GE(driver.engine().metrics().num_preemptions, 1);
  for (const Request& request : requests) {
    EXPECT_EQ(driver.Take(request.id).choices, Plain(request).choices);
  }
}

// The history repeats itself often enough for drafts to be accepted and seldom enough for them to
// be refused.
FakeModel::Script Stutter() {
  return [](const std::vector<int32_t>& history, float* logits) {
    size_t n = history.size();
    int32_t next = n % 11 == 0 ? 'x' : 'a' + static_cast<int32_t>(n % 3);
    logits[next] = 10.0f;
  };
}

TEST(Recurrent, RefusedDraftsAreTakenBack) {
  for (int num_states : {0, 2, 1000}) {
    EngineOptions options = Driver::Options();
    options.max_sequences = 2;
    options.num_states = num_states;
    for (int width : {1, 3}) {  // states do not branch: a chain of drafts is left
      options.draft_shape = {4, width};
      options.lookup = Lookup::kAllTexts;
      Driver driver(MakeRecurrent(options, Stutter()));
      Driver plain(MakeEngine(Stutter()));
      for (Driver* each : {&driver, &plain}) {
        for (RequestId id : {1, 2, 3}) {
          ASSERT_TRUE(each->Add(Ask(id, Bytes("abcabcabc"), 45)).ok());
        }
        each->Run();
      }
      for (RequestId id : {1, 2, 3}) {
        EXPECT_TRUE(driver.Take(id).status.ok()) << driver.Take(id).status.message();
        EXPECT_EQ(driver.Take(id).choices, plain.Take(id).choices);
      }
      const SpecMetrics metrics = driver.engine().metrics().speculation;
      EXPECT_FALSE(metrics.verify_times.empty()) << "nothing was drafted";
      EXPECT_TRUE(driver.AllPagesFree());
    }
  }
}

TEST(Recurrent, NoRowsAreComputedAgainBehindARefusedDraft) {
  EngineOptions options = Driver::Options();
  options.max_sequences = 1;  // of 6 states, 4 are spare
  options.draft_shape = {10};
  options.lookup = Lookup::kAllTexts;
  Driver driver(MakeRecurrent(options, Stutter()));
  ASSERT_TRUE(driver.Add(Ask(1, Bytes("abcabcabc"), 60)).ok());
  driver.Run();
  Metrics metrics = driver.engine().metrics();
  EXPECT_LT(metrics.speculation.accept_count[1], metrics.speculation.draft_count[1]);
  EXPECT_EQ(metrics.speculation.draft_count.size(), 1u + 3);
  EXPECT_EQ(metrics.prefill_tokens, 9) << "the prompt's";
}

TEST(Recurrent, ManyRequestsOfManyKinds) {
  std::mt19937 random(5);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 160;
  options.max_sequences = 4;
  options.prefill_chunk_size = 9;
  options.lookup = Lookup::kAllTexts;
  Driver driver(MakeRecurrent(options, FakeModel::HashOfHistory(kByteVocab)));
  std::vector<Request> requests;
  for (RequestId id = 1; id <= 60; ++id) {
    Prompt prompt(Bytes(std::string("a common beginning").substr(0, 1 + below(18))));
    if (below(3) == 0) prompt.Append(testing::Rows(below(2), 1 + below(6)));
    for (int i = below(8); i > 0; --i) prompt.Append({'a' + below(3)});
    Request request = Ask(id, prompt, 1 + below(20));
    request.n = 1 + below(3);
    request.sampling.temperature = below(2);
    request.sampling.seed = static_cast<uint64_t>(below(100));
    request.priority = below(2);
    requests.push_back(request);
    ASSERT_TRUE(driver.Add(request).ok());
    for (int i = below(6); i > 0; --i) driver.Step();
    if (below(10) == 0) driver.engine().Abort(1 + below(static_cast<int>(id)), Cancelled("test"));
  }
  driver.Run();
  int num_answers = 0;
  for (const Request& request : requests) {
    Outcome outcome = driver.Take(request.id);
    if (!outcome.status.ok()) {
      EXPECT_EQ(outcome.status.code(), StatusCode::kCancelled) << outcome.status.message();
      continue;
    }
    EXPECT_EQ(outcome.choices, Plain(request).choices) << request.id;
    ++num_answers;
  }
  EXPECT_GT(num_answers, 40);
  EXPECT_TRUE(driver.AllPagesFree());
}

}  // namespace
}  // namespace mlc
