#include "engine/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/engine_driver.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::ByteTokenizer;
using testing::Driver;
using testing::kByteVocab;
using testing::kEnd;
using testing::MakeEngine;
using testing::TestInfo;

FakeModel::Script Hash() { return FakeModel::HashOfHistory(kByteVocab); }

Request Embed(RequestId id, std::vector<int32_t> tokens, Pooling pooling) {
  Request request;
  request.id = id;
  request.prompt = std::move(tokens);
  request.pooling = pooling;
  return request;
}

Request Generate(RequestId id, std::vector<int32_t> prompt, int max_tokens) {
  Request request;
  request.id = id;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  return request;
}

std::vector<int32_t> Text(int length, int seed) {
  std::vector<int32_t> tokens;
  for (int i = 0; i < length; ++i) tokens.push_back('a' + (i * i + seed) % 26);
  return tokens;
}

// What the model gives when it is asked row by row, summed up in another way than the engine's.
std::vector<double> Expected(const std::vector<int32_t>& tokens, Pooling pooling) {
  FakeModel model(TestInfo(), Hash());
  EXPECT_TRUE(model.AllocatePages({16}).ok());
  std::vector<std::vector<double>> rows;
  Batch batch;
  for (int i = 0; i < 16; ++i) batch.page_indices.push_back(i);
  batch.page_indptr = {0, 16};
  batch.row_sequence = batch.hidden_rows = {0};
  for (size_t i = 0; i < tokens.size(); ++i) {
    batch.tokens = {tokens[i]};
    batch.positions = batch.slots = {static_cast<int32_t>(i)};
    Result<Outputs> outputs = model.Forward(batch);
    EXPECT_TRUE(outputs.ok());
    const float* row = outputs->hidden_states;
    rows.emplace_back(row, row + model.info().hidden_size);
  }
  if (pooling == Pooling::kLast) return rows.back();
  if (pooling == Pooling::kCls) return rows.front();
  std::vector<double> mean(rows[0].size());
  for (size_t i = 0; i < mean.size(); ++i) {
    for (const auto& row : rows) mean[i] += row[i];
    mean[i] /= static_cast<double>(rows.size());
  }
  return mean;
}

TEST(Pooler, TheMeanTheLastAndTheFirst) {
  const float rows[] = {1, 2, 3, 5, 8, 13};
  Pooler mean(Pooling::kMean), last(Pooling::kLast);
  mean.Add(rows, 2, 2);
  mean.Add(rows + 4, 1, 2);
  EXPECT_EQ(mean.Vector(), (std::vector<double>{4, 20 / 3.0}));
  last.Add(rows + 4, 1, 2);
  EXPECT_EQ(last.Vector(), (std::vector<double>{8, 13}));
  Pooler first(Pooling::kCls);
  first.Add(rows, 2, 2);
  first.Add(rows + 4, 1, 2);
  EXPECT_EQ(first.Vector(), (std::vector<double>{1, 2}));
  mean.Reset();
  mean.Add(rows, 1, 2);
  EXPECT_EQ(mean.Vector(), (std::vector<double>{1, 2}));
}

class PooledRequests : public ::testing::TestWithParam<Pooling> {};

// Bit for bit the same whatever the chunks are, beside answers, and with pages so short that
// sequences give theirs back.
TEST_P(PooledRequests, DependOnTheirTextAlone) {
  int64_t num_preemptions = 0;
  for (int chunk : {1, 2, 5, 7, 64}) {
    for (int tokens : {48, 1024}) {
      EngineOptions options = Driver::Options();
      options.prefill_chunk_size = chunk;
      options.max_total_tokens = tokens;
      Driver driver(MakeEngine(Hash(), options));
      for (int i = 0; i < 6; ++i) {
        Request text = Embed(10 + i, Text(3 + 7 * i, i), GetParam());
        ASSERT_TRUE(driver.Add(std::move(text)).ok());
        ASSERT_TRUE(driver.Add(Generate(20 + i, Text(4 + i, i), 12)).ok());
        for (int step = 0; step < i; ++step) driver.Step();
      }
      driver.Run();
      for (int i = 0; i < 6; ++i) {
        std::vector<int32_t> text = Text(3 + 7 * i, i);
        EXPECT_EQ(driver.Take(10 + i).embedding, Expected(text, GetParam())) << chunk;
        EXPECT_EQ(driver.Take(10 + i).usage.prompt_tokens, static_cast<int>(text.size()));
        EXPECT_EQ(driver.Take(10 + i).usage.completion_tokens, 0);
        EXPECT_TRUE(driver.Take(10 + i).choices.empty());
      }
      Driver alone(MakeEngine(Hash()));
      ASSERT_TRUE(alone.Add(Generate(1, Text(9, 5), 12)).ok());
      alone.Run();
      EXPECT_EQ(driver.Take(25).choices, alone.Take(1).choices) << "an answer beside them";
      EXPECT_TRUE(driver.AllPagesFree());
      num_preemptions += driver.engine().metrics().num_preemptions;
    }
  }
  EXPECT_GT(num_preemptions, 0);
}

// A cached prefix has no hidden states: the mean computes it again, the last row needs it not.
TEST_P(PooledRequests, WithTheirPrefixCached) {
  Driver driver(MakeEngine(Hash()));
  std::vector<int32_t> text = Text(30, 1);
  for (RequestId id = 1; id <= 3; ++id) {
    ASSERT_TRUE(driver.Add(Embed(id, text, GetParam())).ok());
    driver.Run();
    EXPECT_EQ(driver.Take(id).embedding, Expected(text, GetParam()));
  }
  int cached = GetParam() == Pooling::kLast ? 29 : 0;
  EXPECT_EQ(driver.Take(3).usage.cached_tokens, cached);
  ASSERT_TRUE(driver.Add(Generate(4, text, 5)).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(4).usage.cached_tokens, 29) << "who comes after them finds their pages";
}

TEST_P(PooledRequests, FillTheWholeContext) {
  Driver driver(MakeEngine(Hash()));
  int longest = driver.engine().max_length();
  ASSERT_TRUE(driver.Add(Embed(1, Text(longest, 2), GetParam())).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(1).embedding, Expected(Text(longest, 2), GetParam()));
  Status status = driver.Add(Embed(2, Text(longest + 1, 2), GetParam()));
  EXPECT_TRUE(status.Is(Reason::kContextLengthExceeded));
  EXPECT_EQ(status.param(), "input");
}

INSTANTIATE_TEST_SUITE_P(All, PooledRequests,
                         ::testing::Values(Pooling::kMean, Pooling::kLast, Pooling::kCls));

// ---- Encoders: the fake model refuses a step that has a text in part ----------------------------

std::unique_ptr<Engine> MakeEncoder(int chunk, int tokens = 1024) {
  ModelInfo info = TestInfo();
  info.is_encoder = true;
  EngineOptions options = Driver::Options();
  options.prefill_chunk_size = chunk;
  options.max_total_tokens = tokens;
  auto engine = Engine::Create(std::make_unique<FakeModel>(info, Hash()), ByteTokenizer(), options);
  EXPECT_TRUE(engine.ok());
  return std::move(engine).value();
}

TEST_P(PooledRequests, OfAnEncoderAreComputedWhole) {
  for (int chunk : {38, 41, 64}) {
    for (int tokens : {48, 1024}) {
      Driver driver(MakeEncoder(chunk, tokens));
      for (int i = 0; i < 12; ++i) {
        ASSERT_TRUE(driver.Add(Embed(10 + i, Text(3 + 7 * (i % 6), i), GetParam())).ok());
        if (i % 3 == 0) driver.Step();
      }
      driver.Run();
      for (int i = 0; i < 12; ++i) {
        std::vector<int32_t> text = Text(3 + 7 * (i % 6), i);
        EXPECT_EQ(driver.Take(10 + i).embedding, Expected(text, GetParam())) << chunk;
        EXPECT_EQ(driver.Take(10 + i).usage.cached_tokens, 0);
      }
      EXPECT_TRUE(driver.AllPagesFree());
    }
  }
}

TEST(Encoder, RefusesATextThatIsLongerThanAStep) {
  Driver driver(MakeEncoder(/*chunk=*/20));
  EXPECT_EQ(driver.engine().max_length(), 20);
  EXPECT_TRUE(driver.Add(Embed(1, Text(20, 0), Pooling::kMean)).ok());
  Status status = driver.Add(Embed(2, Text(21, 0), Pooling::kMean));
  EXPECT_TRUE(status.Is(Reason::kContextLengthExceeded));
  EXPECT_EQ(status.param(), "input");
}

// Rows of 'n' are no numbers, and the head makes a number of every vector.
class BrokenModel : public FakeModel {
 public:
  using FakeModel::FakeModel;

  Result<Outputs> Forward(const Batch& batch) override {
    MLC_ASSIGN_OR_RETURN(Outputs outputs, FakeModel::Forward(batch));
    size_t width = static_cast<size_t>(info().hidden_size);
    states_.assign(outputs.hidden_states, outputs.hidden_states + batch.hidden_rows.size() * width);
    for (size_t i = 0; i < batch.hidden_rows.size(); ++i) {
      if (batch.tokens[static_cast<size_t>(batch.hidden_rows[i])] == 'n') {
        states_[i * width] = std::numeric_limits<float>::quiet_NaN();
      }
    }
    outputs.hidden_states = states_.data();
    return outputs;
  }
  Result<const float*> RunHead(const std::vector<float>&, int num_vectors) override {
    scores_.assign(static_cast<size_t>(num_vectors), 0.5f);
    return scores_.data();
  }

 private:
  std::vector<float> states_, scores_;
};

TEST(Encoder, RefusesScoresOfWhatIsNoNumber) {
  ModelInfo info = TestInfo();
  info.is_encoder = true;
  info.head_size = 1;
  auto engine = Engine::Create(std::make_unique<BrokenModel>(info, Hash()), ByteTokenizer(),
                               Driver::Options());
  ASSERT_TRUE(engine.ok());
  Driver driver(std::move(engine).value());
  ASSERT_TRUE(driver.Add(Embed(1, {'a', 'n'}, Pooling::kMean)).ok());
  ASSERT_TRUE(driver.Add(Embed(2, {'a', 'b'}, Pooling::kMean)).ok());
  driver.Run();
  EXPECT_EQ(driver.Take(1).status.code(), StatusCode::kInternal);
  EXPECT_EQ(driver.Take(1).status.message(), "the model's hidden states are no numbers");
  EXPECT_EQ(driver.Take(2).embedding, std::vector<double>{0.5}) << "the other text of its step";
}

TEST(Encoder, WritesNoText) {
  Driver driver(MakeEncoder(64));
  Status status = driver.Add(Generate(1, Text(4, 0), 3));
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.param(), "model");
  EXPECT_NE(status.message().find("embeddings"), std::string::npos) << status.message();
}

TEST(PooledRequest, EndsOnAbort) {
  EngineOptions options = Driver::Options();
  options.prefill_chunk_size = 4;
  Driver driver(MakeEngine(Hash(), options));
  ASSERT_TRUE(driver.Add(Embed(1, Text(40, 0), Pooling::kMean)).ok());
  driver.Step();
  driver.engine().Abort(1, Cancelled("enough"));
  driver.Run();
  EXPECT_EQ(driver.Take(1).status.message(), "enough");
  EXPECT_TRUE(driver.Take(1).embedding.empty());
  EXPECT_TRUE(driver.AllPagesFree());
}

TEST(PooledRequest, OfTheHigherPriorityComesFirst) {
  EngineOptions options = Driver::Options();
  options.prefill_chunk_size = 4;
  options.max_sequences = 1;
  Driver driver(MakeEngine(Hash(), options));
  ASSERT_TRUE(driver.Add(Embed(1, Text(40, 0), Pooling::kMean)).ok());
  driver.Step();
  Request urgent = Embed(2, Text(8, 1), Pooling::kMean);
  urgent.priority = 5;
  ASSERT_TRUE(driver.Add(std::move(urgent)).ok());
  while (driver.outcomes().empty()) driver.Step();
  EXPECT_EQ(driver.outcomes().begin()->first, 2u);
  driver.Run();
  EXPECT_EQ(driver.Take(1).embedding, Expected(Text(40, 0), Pooling::kMean))
      << "what it had summed before it gave way does not count twice";
}

TEST(PooledRequest, NeedsAModelWithHiddenStates) {
  ModelInfo info = TestInfo();
  info.hidden_size = 0;
  auto engine =
      Engine::Create(std::make_unique<FakeModel>(info, Hash()), ByteTokenizer(), Driver::Options());
  ASSERT_TRUE(engine.ok());
  Status status = (*engine)->Add(Embed(1, Text(4, 0), Pooling::kMean));
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.param(), "model_lib");
}

}  // namespace
}  // namespace mlc
