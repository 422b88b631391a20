// Hundreds of random requests in a pool far too small for them: whatever the company, the chunks
// and the preemptions, a request gets what it gets alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "engine/engine_driver.h"
#include "engine/speculation/draft_model.h"

namespace mlc {
namespace {

using testing::Driver;
using testing::kByteVocab;
using testing::kEnd;
using testing::MakeEngine;
using testing::Outcome;
using testing::TestInfo;

std::unique_ptr<Engine> Make(const EngineOptions& options, const ModelInfo& info) {
  auto model = std::make_unique<FakeModel>(info, FakeModel::HashOfHistory(kByteVocab));
  auto engine = Engine::Create(std::move(model), testing::ByteTokenizer(), options);
  MLC_ICHECK(engine.ok());
  return std::move(engine).value();
}

class RandomRequests {
 public:
  explicit RandomRequests(uint32_t seed) : random_(seed) {}
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  Request Next(RequestId id) {
    Request request;
    request.id = id;
    request.prompt = Beginning();
    for (int i = 1 + Below(24); i > 0; --i) request.prompt.Append({Below(256)});
    request.priority = Below(4) == 0 ? Below(5) - 2 : 0;
    request.n = Below(3) == 0 ? 1 + Below(4) : 1;
    request.max_tokens = Below(4) == 0 ? -1 : 1 + Below(30);
    request.ignore_eos = Below(5) == 0;
    request.stop_token_ids = {kEnd, Below(256)};
    for (int i = Below(3); i > 0; --i) {
      request.stop_strings.push_back(std::string(1, static_cast<char>('a' + Below(26))));
    }
    request.sampling = Sampling();
    return request;
  }

 private:
  // A part of one of four texts, so that requests share what they begin with.
  std::vector<int32_t> Beginning() {
    std::vector<int32_t> tokens;
    int text = Below(4), length = Below(3) == 0 ? 0 : Below(20);
    for (int i = 0; i < length; ++i) tokens.push_back('a' + text);
    return tokens;
  }
  SamplingParams Sampling() {
    SamplingParams sampling;
    sampling.seed = random_();
    sampling.temperature = Below(3) == 0 ? 0.0 : 0.3 + Below(20) / 10.0;
    if (Below(3) == 0) sampling.top_p = 0.1 + Below(9) / 10.0;
    if (Below(3) == 0) sampling.top_k = 1 + Below(50);
    if (Below(3) == 0) sampling.frequency_penalty = Below(20) / 10.0;
    if (Below(3) == 0) sampling.repetition_penalty = 0.5 + Below(15) / 10.0;
    if (Below(4) == 0) sampling.logit_bias = {{Below(kByteVocab), 3.0f}};
    return sampling;
  }
  std::mt19937 random_;
};

// Alone, in a roomy pool, with nothing that was computed before.
Outcome Alone(const Request& request, const ModelInfo& info) {
  EngineOptions roomy;
  roomy.max_sequences = 8;
  roomy.max_total_tokens = 4096;
  roomy.context_window_size = 64;
  roomy.prefix_cache = false;
  Driver driver(Make(roomy, info));
  EXPECT_TRUE(driver.Add(request).ok());
  driver.Run();
  return driver.Take(request.id);
}

int NumRequests(int in_ci, int in_long) {
  return std::getenv("MLC_TEST_LONG") == nullptr ? in_ci : in_long;
}

// Text and tokens that came before the end of a request are the beginning of what it gets alone.
void ExpectBeginning(const Outcome& part, const Outcome& whole) {
  for (const auto& [index, choice] : part.choices) {
    const testing::ChoiceOutcome& full = whole.choices.at(index);
    EXPECT_EQ(full.text.substr(0, choice.text.size()), choice.text);
  }
}

void Check(const Driver& driver, const std::vector<Request>& requests,
           const ModelInfo& info = TestInfo()) {
  for (const Request& request : requests) {
    auto found = driver.outcomes().find(request.id);
    ASSERT_NE(found, driver.outcomes().end()) << "request " << request.id << " has no events";
    const Outcome& outcome = found->second;
    EXPECT_EQ(outcome.num_ends, 1) << request.id;
    Outcome alone = Alone(request, info);
    if (!outcome.status.ok()) {
      ExpectBeginning(outcome, alone);
      continue;
    }
    EXPECT_EQ(outcome.choices, alone.choices) << "request " << request.id;
    EXPECT_EQ(outcome.usage.completion_tokens, alone.usage.completion_tokens);
  }
}

// A tenth of what sixteen sequences of 64 tokens would take.
EngineOptions Tight() {
  EngineOptions tight;
  tight.max_sequences = 16;
  tight.max_total_tokens = 104;
  tight.context_window_size = 64;
  tight.prefill_chunk_size = 29;
  tight.max_queued_requests = 1 << 20;
  return tight;
}

// That the soak was one: requests were preempted, aborted, and most came to their end.
void ExpectHardship(const Metrics& metrics, int num_requests) {
  EXPECT_GT(metrics.num_preemptions, num_requests / 50);
  EXPECT_GT(metrics.num_failed, num_requests / 20);
  EXPECT_GT(metrics.num_finished, num_requests / 2);
  EXPECT_EQ(metrics.num_finished + metrics.num_failed, num_requests);
}

// Adds, steps and aborts (about `abort_percent` of the requests) in random order.
void Soak(RandomRequests* random, Driver* driver, int num_requests, int abort_percent,
          const ModelInfo& info = TestInfo()) {
  std::vector<Request> requests;
  std::vector<RequestId> to_abort;
  while (static_cast<int>(requests.size()) < num_requests || driver->engine().has_work()) {
    bool add = static_cast<int>(requests.size()) < num_requests && random->Below(3) == 0;
    if (add) {
      requests.push_back(random->Next(requests.size() + 1));
      ASSERT_TRUE(driver->Add(requests.back()).ok());
      if (random->Below(100) < abort_percent) to_abort.push_back(requests.back().id);
    }
    if (!to_abort.empty() && random->Below(6) == 0) {
      driver->engine().Abort(to_abort.front(), Cancelled("by the test"));
      to_abort.erase(to_abort.begin());
    }
    if (driver->engine().has_work()) driver->Step();
    ASSERT_LE(driver->engine().num_free_pages(), driver->engine().num_pages());
  }
  driver->Collect();
  EXPECT_TRUE(driver->AllPagesFree());
  Check(*driver, requests, info);
}

TEST(EngineSoak, EveryRequestGetsWhatItGetsAlone) {
  int num_requests = NumRequests(800, 16000);
  Driver driver(Make(Tight(), TestInfo()));
  RandomRequests random(20240601);
  Soak(&random, &driver, num_requests, /*abort_percent=*/30);
  ExpectHardship(driver.engine().metrics(), num_requests);
}

TEST(EngineSoak, EveryRequestGetsWhatItGetsAloneUnderASlidingWindow) {
  ModelInfo info = TestInfo();
  info.sliding_window_size = 14;
  info.attention_sink_size = 3;
  int num_requests = NumRequests(200, 4000);
  Driver driver(Make(Tight(), info));
  RandomRequests random(20240602);
  Soak(&random, &driver, num_requests, /*abort_percent=*/30, info);
  ExpectHardship(driver.engine().metrics(), num_requests);
}

// By the model itself, without the window that the target may have: right about the first tokens
// of each answer, and often wrong behind.
void SoakWithDrafts(const ModelInfo& info, DraftShape shape = {3, 1},
                    EngineOptions options = Tight()) {
  options.draft_shape = shape;
  auto draft = DraftModel::Create(
      std::make_unique<FakeModel>(TestInfo(), FakeModel::HashOfHistory(kByteVocab)), kByteVocab,
      options.max_total_tokens);
  ASSERT_TRUE(draft.ok());
  auto model = std::make_unique<FakeModel>(info, FakeModel::HashOfHistory(kByteVocab));
  Driver driver(*Engine::Create(std::move(model), testing::ByteTokenizer(), options,
                                std::move(draft).value()));
  RandomRequests random(20240603);
  Soak(&random, &driver, NumRequests(300, 6000), /*abort_percent=*/30, info);
  const Metrics& metrics = driver.engine().metrics();
  EXPECT_GT(metrics.num_preemptions, 10);
  EXPECT_GT(metrics.speculation.accept_count.at(1), 50);
}

TEST(EngineSoak, EveryRequestGetsWhatItGetsAloneWithDrafts) { SoakWithDrafts(TestInfo()); }

TEST(EngineSoak, EveryRequestGetsWhatItGetsAloneWithDraftsUnderASlidingWindow) {
  ModelInfo info = TestInfo();
  info.sliding_window_size = 14;
  info.attention_sink_size = 3;
  SoakWithDrafts(info);
  SoakWithDrafts(info, {4, 3});
}

TEST(EngineSoak, EveryRequestGetsWhatItGetsAloneWithTokenTrees) {
  SoakWithDrafts(TestInfo(), {4, 3});
}

// Fewer windowed pages than the running sequences and the kept windows want.
EngineOptions TightWindows() {
  EngineOptions tight = Tight();
  tight.max_sequences = 3;
  tight.max_total_tokens = 140;
  tight.prefill_chunk_size = 17;
  return tight;
}

ModelInfo WithWindowedPages(int window, int sink) {
  ModelInfo info = TestInfo();
  info.windowed_page_bytes = info.page_bytes;
  info.layer_window = window;
  info.attention_sink_size = sink;
  return info;
}

// The answers are those of a model whose layers share one table.
TEST(EngineSoak, EveryRequestGetsWhatItGetsAloneWithATableForWindows) {
  int num_requests = NumRequests(300, 6000);
  for (auto [window, sink] : {std::pair(6, 0), {5, 3}, {14, 3}}) {
    Driver driver(Make(TightWindows(), WithWindowedPages(window, sink)));
    RandomRequests random(20240604);
    Soak(&random, &driver, num_requests, /*abort_percent=*/30);
    ExpectHardship(driver.engine().metrics(), num_requests);
  }
}

TEST(EngineSoak, EveryRequestGetsWhatItGetsAloneWithATableForWindowsAndDrafts) {
  SoakWithDrafts(WithWindowedPages(6, 3), {3, 1}, TightWindows());
  SoakWithDrafts(WithWindowedPages(9, 0), {4, 3}, TightWindows());
}

TEST(EngineSoak, TheSmallestPoolStillServesEveryone) {
  EngineOptions tiny;
  tiny.max_sequences = 8;
  tiny.max_total_tokens = 64;  // one sequence of full length
  tiny.prefill_chunk_size = 8;
  Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), tiny));
  RandomRequests random(7);
  Soak(&random, &driver, /*num_requests=*/100, /*abort_percent=*/0);
  EXPECT_EQ(driver.engine().metrics().num_finished, 100);
}

TEST(EngineSoak, AnyChunkSizeGivesTheSameAnswers) {
  std::vector<Request> requests;
  RandomRequests random(3);
  for (RequestId id = 1; id <= 6; ++id) requests.push_back(random.Next(id));
  for (int chunk = 1; chunk <= 64; ++chunk) {
    EngineOptions options;
    options.max_sequences = 4;
    options.max_total_tokens = 96;
    options.prefill_chunk_size = chunk;
    Driver driver(MakeEngine(FakeModel::HashOfHistory(kByteVocab), options));
    for (const Request& request : requests) ASSERT_TRUE(driver.Add(request).ok());
    driver.Run();
    Check(driver, requests);
    ASSERT_FALSE(HasFailure()) << "chunks of " << chunk;
    EXPECT_TRUE(driver.AllPagesFree());
  }
}

}  // namespace
}  // namespace mlc
