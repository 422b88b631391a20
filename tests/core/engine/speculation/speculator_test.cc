// Speculative decoding in a whole engine: whatever is drafted, the answers are the same.
#include "engine/speculation/speculator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/engine_driver.h"
#include "engine/speculation/draft_model.h"
#include "engine/speculation/guessing_drafters.h"
#include "engine/speculation/layer_drafter.h"
#include "engine/speculation/medusa.h"

namespace mlc {
namespace {

using namespace std::string_literals;

using testing::Bytes;
using testing::Driver;
using testing::FailingDrafter;
using testing::kByteVocab;
using testing::kEnd;
using testing::MakeEngine;
using testing::Outcome;
using testing::RandomDrafter;

// A text that repeats, so that there is something to look up: the most likely token depends on the
// last one alone, in a circle of `period`.
FakeModel::Script Circle(int period) {
  return [period](const std::vector<int32_t>& history, float* logits) {
    for (int k = 0; k < 6; ++k) {
      logits['a' + (history.back() + 1 + k * k) % period] += 3.0f - 0.6f * static_cast<float>(k);
    }
    logits[kEnd] = -1;
  };
}

// The target's script, wrong every third token.
FakeModel::Script AlmostCircle(int period) {
  return [period](const std::vector<int32_t>& history, float* logits) {
    if (history.size() % 3 == 0) {
      logits['z'] = 9;
    } else {
      Circle(period)(history, logits);
    }
  };
}

constexpr int kPeriod = 5;

std::unique_ptr<Drafter> MakeDraftModel(FakeModel::Script script, int max_total_tokens = 512,
                                        bool is_mtp = false) {
  ModelInfo info = FakeModel::SmallInfo();
  info.vocab_size = kByteVocab;
  info.max_batch_size = 5;
  info.takes_states = is_mtp;
  auto model = std::make_unique<FakeModel>(info, std::move(script));
  if (is_mtp) return *LayerDrafter::Create(std::move(model), kByteVocab, max_total_tokens);
  return *DraftModel::Create(std::move(model), kByteVocab, max_total_tokens);
}

std::unique_ptr<Drafter> MakeMedusa() {
  ModelInfo info = FakeModel::SmallInfo();
  info.vocab_size = kByteVocab;
  info.head_size = 3 * kByteVocab;
  auto heads = std::make_unique<FakeModel>(info, Circle(kPeriod));
  return *MedusaDrafter::Create(std::move(heads), kByteVocab);
}

std::unique_ptr<Drafter> MakeDrafter(const std::string& kind) {
  if (kind == "mtp") return MakeDraftModel(Circle(kPeriod), 512, true);
  if (kind == "mtp, tiny pool") return MakeDraftModel(Circle(kPeriod), 48, true);
  if (kind == "medusa") return MakeMedusa();
  if (kind == "random") return std::make_unique<RandomDrafter>();
  if (kind == "failing") return std::make_unique<FailingDrafter>();
  if (kind == "same model") return MakeDraftModel(Circle(kPeriod));
  if (kind == "tiny pool") return MakeDraftModel(Circle(kPeriod), 48);
  if (kind == "other model") return MakeDraftModel(AlmostCircle(kPeriod));
  return nullptr;
}

// `kind`: of the drafter, with "and lookup" behind it, or "lookup" alone.
Driver MakeDriver(const std::string& kind, DraftShape shape,
                  EngineOptions options = Driver::Options(), FakeModel** model = nullptr) {
  options.draft_shape = shape;
  if (kind.find("lookup") != std::string::npos) options.lookup = Lookup::kAllTexts;
  auto drafter = MakeDrafter(kind.substr(0, kind.find(" and lookup")));
  return Driver(MakeEngine(Circle(kPeriod), options, model, std::move(drafter)));
}

// Requests of every kind: sampled and greedy, penalties, bias, logprobs, grammar, stops, choices.
std::vector<Request> Requests(bool predicts) {
  static GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  std::vector<Request> requests;
  std::mt19937 random(17);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (RequestId id = 1; id <= 40; ++id) {
    Request request;
    request.id = id;
    std::vector<int32_t> prompt(static_cast<size_t>(1 + below(30)));
    for (int32_t& token : prompt) token = 'a' + below(kPeriod);
    request.prompt = std::move(prompt);
    request.n = below(3) == 0 ? 1 + below(3) : 1;
    request.max_tokens = 1 + below(30);
    request.ignore_eos = below(4) == 0;
    request.stop_token_ids = {kEnd};
    if (below(4) == 0) request.stop_strings = {"ace"};
    request.sampling.seed = random();
    request.sampling.temperature = below(3) == 0 ? 0.0 : 0.2 + below(15) / 10.0;
    if (below(3) == 0) request.sampling.presence_penalty = below(20) / 10.0;
    if (below(3) == 0) request.sampling.repetition_penalty = 0.8 + below(8) / 10.0;
    if (below(3) == 0) request.sampling.logit_bias = {{'b', 1.0f}, {kEnd, 2.0f}};
    if (below(3) == 0) request.sampling.logprobs = true;
    request.sampling.top_logprobs = request.sampling.logprobs ? 2 : 0;
    if (below(4) == 0) request.grammar = *compiler.CompileJsonObject();
    if (predicts && id % 3 != 0)
      request.prediction = Bytes("abcdeabdcdeacde{\"a\": \"bcde\"}abcde");
    requests.push_back(std::move(request));
  }
  return requests;
}

// Without a drafter's name the requests have no predictions either.
std::map<RequestId, Outcome> Answers(const std::string& drafter, DraftShape shape,
                                     const EngineOptions& options, Metrics* metrics = nullptr) {
  Driver driver = MakeDriver(drafter, shape, options);
  for (const Request& request : Requests(!drafter.empty())) EXPECT_TRUE(driver.Add(request).ok());
  driver.Run();
  EXPECT_TRUE(driver.AllPagesFree());
  if (metrics != nullptr) *metrics = driver.engine().metrics();
  return driver.outcomes();
}

void ExpectSame(const std::map<RequestId, Outcome>& a, const std::map<RequestId, Outcome>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [id, outcome] : a) {
    const Outcome& other = b.at(id);
    EXPECT_TRUE(outcome.status.ok() && other.status.ok());
    EXPECT_EQ(outcome.choices, other.choices) << "request " << id;
    EXPECT_EQ(outcome.usage.completion_tokens, other.usage.completion_tokens) << id;
    std::map<std::pair<int32_t, float>, int> logprobs, other_logprobs;
    for (const auto& t : outcome.generated) ++logprobs[{t.id, t.logprobs ? t.logprobs->chosen : 1}];
    for (const auto& t : other.generated) {
      ++other_logprobs[{t.id, t.logprobs ? t.logprobs->chosen : 1}];
    }
    EXPECT_EQ(logprobs, other_logprobs) << id;
  }
}

class SpeculatorAnswers : public ::testing::TestWithParam<const char*> {};

TEST_P(SpeculatorAnswers, AreTheSameAsWithout) {
  EngineOptions wide = Driver::Options(), tight = wide;
  tight.max_sequences = 6;
  tight.max_total_tokens = 96;
  tight.prefill_chunk_size = 13;
  const DraftShape shapes[] = {{0}, {1}, {4}, {40}, {0, 2}, {1, 3}, {4, 2}, {4, 4}, {40, 3}};
  std::map<RequestId, Outcome> expected = Answers("", {}, wide);
  for (const EngineOptions& options : {wide, tight}) {
    for (const DraftShape& shape : shapes) {
      Metrics metrics;
      ExpectSame(Answers(GetParam(), shape, options, &metrics), expected);
      bool has_drafts = metrics.speculation.draft_count.empty() == (GetParam() == "none"s);
      // A drafter that is nearly always right leaves nothing to predictions.
      const SpecMetrics& made = metrics.speculation;
      bool is_right =
          made.draft_count.size() > 1 && 10 * made.accept_count[1] > 7 * made.draft_count[1];
      EXPECT_TRUE(shape.length == 0 || is_right || (has_drafts && made.prediction.drafts > 0));
      ASSERT_FALSE(HasFailure()) << GetParam() << ", " << shape.length << " drafts, " << shape.width
                                 << " wide";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Drafters, SpeculatorAnswers,
                         ::testing::Values("none", "lookup", "random", "failing", "same model",
                                           "tiny pool", "other model", "mtp", "mtp, tiny pool",
                                           "medusa", "mtp and lookup", "medusa and lookup",
                                           "other model and lookup", "failing and lookup"));

Request Ask(RequestId id, const std::string& prompt, int max_tokens) {
  Request request;
  request.id = id;
  request.prompt = Bytes(prompt);
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  request.sampling.temperature = 0;
  return request;
}

int StepsFor(const std::string& drafter, DraftShape shape, double temperature) {
  Driver driver = MakeDriver(drafter, shape);
  Request request = Ask(1, "abcde", 50);
  request.sampling.temperature = temperature;
  EXPECT_TRUE(driver.Add(request).ok());
  driver.Run();
  return static_cast<int>(driver.engine().metrics().num_steps);
}

TEST(Speculator, GoodDraftsSaveSteps) {
  EXPECT_EQ(StepsFor("none", {}, 0), 50);
  EXPECT_LE(StepsFor("same model", {4}, 0), 11);
  EXPECT_LE(StepsFor("lookup", {4}, 0), 14);
  EXPECT_LE(StepsFor("same model", {4}, 1.5), 11) << "both sample with the same numbers";
  EXPECT_LE(StepsFor("mtp", {4}, 1.5), 11);
  EXPECT_LE(StepsFor("other model", {4}, 0), 26);
  EXPECT_LE(StepsFor("random and lookup", {4}, 0), 16) << "the better guess is checked";
}

// Its likeliest token is wrong every third time, its second one then right.
FakeModel::Script SecondBest(int period) {
  return [period](const std::vector<int32_t>& history, float* logits) {
    Circle(period)(history, logits);
    auto right = std::max_element(logits, logits + kByteVocab) - logits;
    std::fill(logits, logits + kByteVocab, -5.0f);
    logits[right] = 5;
    if (history.size() % 3 == 0) logits['z'] = 5.2f;
  };
}

TEST(Speculator, ATreeSavesStepsWhereASecondGuessIsRight) {
  auto steps = [](DraftShape shape, double temperature) {
    EngineOptions options = Driver::Options();
    options.draft_shape = shape;
    Driver driver(
        MakeEngine(Circle(kPeriod), options, nullptr, MakeDraftModel(SecondBest(kPeriod))));
    Request request = Ask(1, "abcde", 50);
    request.sampling.temperature = temperature;
    EXPECT_TRUE(driver.Add(request).ok());
    driver.Run();
    Metrics metrics = driver.engine().metrics();
    EXPECT_EQ(metrics.speculation.draft_count.size(), 5u) << "one for each depth";
    EXPECT_EQ(metrics.decode_tokens, 49);
    int64_t accepted = 0;
    for (size_t i = 1; i < 5; ++i) accepted += metrics.speculation.accept_count[i];
    EXPECT_EQ(accepted + metrics.num_steps, 50) << "each step yields a token beside the drafts";
    EXPECT_TRUE(driver.AllPagesFree());
    return static_cast<int>(metrics.num_steps);
  };
  int chain = steps({4, 1}, 0), tree = steps({4, 2}, 0);
  EXPECT_GT(chain, 16);
  EXPECT_LE(tree, 12);
  EXPECT_LE(steps({4, 4}, 1.0), steps({4, 1}, 1.0));
}

TEST(Speculator, RefusedBranchesAreFoundByNobody) {
  Driver driver = MakeDriver("random", {4, 3});
  Request first = Ask(1, "abcdeabcdeabcde", 30);
  ASSERT_TRUE(driver.Add(first).ok());
  driver.Run();
  std::vector<int32_t> tokens = driver.Take(1).choices[0].tokens;
  // The whole chat is found, and going on with it says what a fresh engine says.
  Request second = Ask(2, "", 10);
  second.prompt = first.prompt;
  second.prompt.Append(tokens);
  ASSERT_TRUE(driver.Add(second).ok());
  driver.Run();
  EXPECT_GE(driver.Take(2).usage.cached_tokens, 15 + 30 - 2);
  Driver fresh(MakeEngine(Circle(kPeriod), Driver::Options(), nullptr, nullptr));
  ASSERT_TRUE(fresh.Add(second).ok());
  fresh.Run();
  EXPECT_EQ(driver.Take(2).choices, fresh.Take(2).choices);
  EXPECT_TRUE(driver.AllPagesFree());
}

TEST(Speculator, CancelledAndFailedStepsLeaveNoBranches) {
  for (int fail_at = 0; fail_at < 6; ++fail_at) {
    FakeModel* model;
    Driver driver = MakeDriver("random", {4, 3}, Driver::Options(), &model);
    ASSERT_TRUE(driver.Add(Ask(1, "abcde", 50)).ok());
    ASSERT_TRUE(driver.Add(Ask(2, "bcdea", 50)).ok());
    for (int step = 0; step < fail_at; ++step) driver.Step();
    driver.engine().Abort(2, Cancelled("enough"));
    model->FailForward(0, Internal("device lost"));
    driver.Run();
    EXPECT_EQ(driver.Take(1).status.message(), "device lost");
    EXPECT_EQ(driver.Take(2).status.code(), StatusCode::kCancelled);
    EXPECT_TRUE(driver.AllPagesFree()) << fail_at;
  }
}

TEST(Speculator, BranchesYieldToEmbeddings) {
  Driver driver = MakeDriver("random", {4, 3});
  ASSERT_TRUE(driver.Add(Ask(1, "abcde", 40)).ok());
  for (RequestId id = 2; id < 12; ++id) {
    driver.Step();
    Request request = Ask(id, "abcdeabcde", 0);
    request.pooling = Pooling::kMean;
    ASSERT_TRUE(driver.Add(request).ok());
  }
  driver.Run();
  for (RequestId id = 1; id < 12; ++id) {
    EXPECT_TRUE(driver.Take(id).status.ok()) << driver.Take(id).status.message();
  }
  EXPECT_TRUE(driver.AllPagesFree());
}

TEST(Speculator, AFailedDrafterDraftsNoMoreAndFailsNobody) {
  Driver driver = MakeDriver("failing", {4});
  ASSERT_TRUE(driver.Add(Ask(1, "abcde", 50)).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(1).choices[0].tokens.size(), 50u);
  EXPECT_EQ(driver.engine().metrics().speculation.failure, "the draft's device is lost");
  driver.engine().ResetMetrics();
  Metrics metrics = driver.engine().metrics();
  EXPECT_TRUE(metrics.speculation.draft_count.empty());
  EXPECT_FALSE(metrics.speculation.failure.empty());
}

// Counts how often it is told to forget.
class ForgetfulDrafter : public RandomDrafter {
 public:
  explicit ForgetfulDrafter(int* num_clears) : num_clears_(num_clears) {}
  void Clear() override { ++*num_clears_; }

 private:
  int* num_clears_;
};

TEST(Speculator, TheDrafterForgetsWithThePrefixCache) {
  int num_clears = 0;
  Driver driver(MakeEngine(Circle(kPeriod), Driver::Options(), nullptr,
                           std::make_unique<ForgetfulDrafter>(&num_clears)));
  driver.engine().ClearPrefixCache();
  EXPECT_EQ(num_clears, 1);
}

TEST(Speculator, MetricsCountDraftsAndTokens) {
  Driver driver = MakeDriver("same model", {4});
  ASSERT_TRUE(driver.Add(Ask(1, "abcde", 51)).ok());
  driver.Run();
  Metrics metrics = driver.engine().metrics();
  EXPECT_EQ(metrics.decode_tokens, 50);
  EXPECT_EQ(metrics.prefill_tokens, 5);
  EXPECT_EQ(metrics.speculation.draft_count, (std::vector<int64_t>{10, 10, 10, 10, 10}));
  EXPECT_EQ(metrics.speculation.accept_count, metrics.speculation.draft_count);
  EXPECT_EQ(metrics.ToJson().Find("spec_decode")->Find("draft_count")->as_array().size(), 5u);
  EXPECT_EQ(metrics.speculation.all.drafted, 40);
  EXPECT_EQ(metrics.speculation.all.accepted, 40);
  EXPECT_EQ(metrics.last_finished.drafts.accepted, 40);
  EXPECT_FALSE(metrics.speculation.all.times()) << "no step was without drafts";
}

TEST(Speculator, TellsWhatDraftsGained) {
  Driver driver = MakeDriver("same model", {});
  ASSERT_TRUE(driver.Add(Ask(1, "abcde", 200)).ok());
  driver.Run();
  Metrics metrics = driver.engine().metrics();
  const DraftGain& all = metrics.speculation.all;
  ASSERT_GT(all.accepted, 0);
  ASSERT_TRUE(all.times());
  EXPECT_EQ(all.times(), metrics.last_finished.drafts.times()) << "it was the only request";
}

// Pearson's chi-square of 4,000 sampled tokens against the target's distribution, at a position
// that is decided by an accepted draft, and one after a refused draft.
TEST(Speculator, SampledTokensFollowTheTargetsDistribution) {
  const std::vector<double> weights = {2.0, 1.2, 0.5, 0.1, -0.7};
  auto script = [&](const std::vector<int32_t>&, float* logits) {
    std::fill(logits, logits + kByteVocab, -30.0f);
    for (size_t i = 0; i < weights.size(); ++i) logits['a' + i] = static_cast<float>(weights[i]);
  };
  auto draft_script = [](const std::vector<int32_t>&, float* logits) {
    for (int i = 0; i < 5; ++i) logits['a' + i] = static_cast<float>(9 + i % 2);
  };
  constexpr int kRuns = 4000;
  std::vector<std::vector<int>> counts(6, std::vector<int>(weights.size(), 0));
  EngineOptions options = Driver::Options();
  options.draft_shape.length = 3;
  Driver driver(MakeEngine(script, options, nullptr, MakeDraftModel(draft_script)));
  for (int run = 0; run < kRuns; ++run) {
    Request request = Ask(static_cast<RequestId>(run + 1), "x", 6);
    request.sampling.temperature = 1;
    request.sampling.seed = static_cast<uint64_t>(run) * 7919;
    ASSERT_TRUE(driver.Add(request).ok());
    driver.Run();
    std::vector<int32_t> tokens = driver.Take(request.id).choices[0].tokens;
    ASSERT_EQ(tokens.size(), 6u);
    for (size_t i = 0; i < 6; ++i) ++counts[i][static_cast<size_t>(tokens[i] - 'a')];
  }
  double total = 0;
  for (double w : weights) total += std::exp(w);
  for (size_t position = 0; position < 6; ++position) {
    double chi_square = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      double expected = kRuns * std::exp(weights[i]) / total;
      chi_square += std::pow(counts[position][i] - expected, 2) / expected;
    }
    EXPECT_LT(chi_square, 18.5) << "position " << position << ", four degrees, p = 0.001";
  }
  const SpecMetrics metrics = driver.engine().metrics().speculation;
  EXPECT_GT(metrics.accept_count[1], kRuns / 4);
  EXPECT_LT(metrics.accept_count[1], metrics.draft_count[1] * 9 / 10);
}

}  // namespace
}  // namespace mlc
