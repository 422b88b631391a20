#include "engine/device_choice.h"

#include <cmath>

#include "engine/engine_driver.h"
#include "model/fake_model.h"
#include "support/request_state.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::Driver;
using testing::kByteVocab;
using testing::Outcome;

// Keeps a fake model's logits and chooses tokens from them as the tasks say, by the host's sampler.
class KeepingModel : public Model, public DeviceSampler {
 public:
  explicit KeepingModel(FakeModel::Script script) : model_(testing::TestInfo(), script) {}

  const ModelInfo& info() const override { return model_.info(); }
  int64_t AvailableBytes() const override { return model_.AvailableBytes(); }
  Status AllocatePages(const std::vector<int>& num_pages) override {
    return model_.AllocatePages(num_pages);
  }
  Status CopyPages(const std::vector<int32_t>& from, const std::vector<int32_t>& to) override {
    return model_.CopyPages(from, to);
  }
  Status ReadPages(const std::vector<int32_t>& pages, char* out) const override {
    return model_.ReadPages(pages, out);
  }
  Status WritePages(const std::vector<int32_t>& pages, const char* data) override {
    return model_.WritePages(pages, data);
  }
  Status ClearSlots(int num_slots, size_t group, char* page) const override {
    return model_.ClearSlots(num_slots, group, page);
  }
  Status AllocateStates(int num_slots) override { return model_.AllocateStates(num_slots); }
  Status ReadState(int32_t slot, char* out) const override { return model_.ReadState(slot, out); }
  Status WriteState(int32_t slot, const char* data) override {
    return model_.WriteState(slot, data);
  }
  Status AllocateAdapters(int num_groups) override { return model_.AllocateAdapters(num_groups); }
  Status WriteAdapter(const std::vector<int32_t>& groups, const AdapterWeights& adapter) override {
    return model_.WriteAdapter(groups, adapter);
  }
  int64_t DiscardPages(const std::vector<int32_t>& pages) override {
    return model_.DiscardPages(pages);
  }
  int64_t DropWeights() override { return model_.DropWeights(); }
  int64_t TouchWeights() override { return model_.TouchWeights(); }
  Result<const float*> RunHead(const std::vector<float>& vectors, int num_vectors) override {
    return model_.RunHead(vectors, num_vectors);
  }
  DeviceSampler* sampler() override { return this; }

  Result<Outputs> Forward(const Batch& batch) override {
    MLC_ASSIGN_OR_RETURN(Outputs outputs, model_.Forward(batch));
    kept_ = batch.keeps_logits ? outputs.logits : nullptr;
    if (batch.keeps_logits) outputs.logits = nullptr;
    return outputs;
  }

  Result<std::vector<int32_t>> Sample(const std::vector<SampleTask>& tasks) override {
    MLC_RETURN_IF_ERROR(fails);
    std::vector<int32_t> tokens;
    for (const SampleTask& task : tasks) tokens.push_back(Choose(task));
    num_sampled += static_cast<int>(tasks.size());
    return tokens;
  }

  Status ReadRows(const std::vector<int32_t>& rows, float* to) override {
    for (int32_t row : rows) to = std::copy_n(Row(row), info().vocab_size, to);
    num_read += static_cast<int>(rows.size());
    return Status();
  }

  Status fails;
  int num_sampled = 0, num_read = 0;

 private:
  float* Row(int32_t row) { return kept_ + static_cast<size_t>(row) * info().vocab_size; }

  int32_t Choose(const SampleTask& task) {
    float* row = Row(task.row);
    for (const LogitChange& change : task.changes) {
      float& logit = row[change.token];
      logit += change.bias;
      logit = logit > 0 ? logit / change.repetition : logit * change.repetition;
      logit -= change.penalty;
    }
    if (!task.mask.empty()) ApplyMask(task.mask, row, task.limit, row);
    SamplingParams params;
    params.temperature = 1 / task.scale;
    params.top_p = task.top_p;
    params.top_k = task.top_k;
    params.min_p = task.min_p;
    Result<int32_t> token = SampleToken(params, row, task.limit, task.uniform, &scratch_);
    return token.ok() ? *token : -1;
  }

  FakeModel model_;
  float* kept_ = nullptr;
  SamplerScratch scratch_;
};

// Logits of a history, likely and unlikely tokens among them.
void Various(const std::vector<int32_t>& history, float* logits) {
  for (int token = 0; token < kByteVocab; ++token) {
    uint64_t hash = static_cast<uint64_t>(history.size()) * 31 + history.back();
    logits[token] = 3 * std::sin(static_cast<float>(hash * 7 + static_cast<uint64_t>(token) * 13));
  }
}

Request MakeRequest(RequestId id) {
  Request request;
  request.id = id;
  request.prompt = Bytes("abc");
  request.prompt.Append({static_cast<int32_t>('d' + id)});
  request.max_tokens = 12;
  request.ignore_eos = true;
  request.sampling.seed = 40 + id;
  return request;
}

// One of each kind that the device chooses for.
std::vector<Request> Requests() {
  std::vector<Request> requests;
  for (RequestId id = 1; id <= 5; ++id) requests.push_back(MakeRequest(id));
  requests[0].sampling.temperature = 0;
  requests[1].sampling.top_p = 0.7;
  requests[2].sampling.top_k = 5;
  requests[2].sampling.min_p = 0.1;
  requests[3].sampling.presence_penalty = 0.8;
  requests[3].sampling.frequency_penalty = 0.5;
  requests[3].sampling.repetition_penalty = 1.3;
  requests[3].sampling.logit_bias = {{'x', 2.5f}, {'y', -100.0f}};
  return requests;
}

// Runs them to the end, together.
void Answer(const std::vector<Request>& requests, std::unique_ptr<Model> model, bool drafts,
            std::vector<Outcome>* outcomes) {
  EngineOptions options = Driver::Options();
  options.draft_shape.length = 3;
  if (drafts) options.lookup = Lookup::kAllTexts;
  auto engine = Engine::Create(std::move(model), testing::ByteTokenizer(), options);
  ASSERT_TRUE(engine.ok());
  Driver driver(*std::move(engine));
  for (const Request& request : requests) ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  for (const Request& request : requests) outcomes->push_back(driver.Take(request.id));
}

void ExpectTheHostsAnswers(const std::vector<Request>& requests, bool drafts) {
  std::vector<Outcome> ours, theirs;
  Answer(requests, std::make_unique<KeepingModel>(Various), drafts, &ours);
  auto host = std::make_unique<FakeModel>(testing::TestInfo(), Various);
  Answer(requests, std::move(host), drafts, &theirs);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_TRUE(ours[i].status.ok()) << ours[i].status.message();
    EXPECT_EQ(ours[i].choices, theirs[i].choices) << "request " << i;
  }
}

TEST(DeviceChoice, TokensAreTheHosts) {
  ExpectTheHostsAnswers(Requests(), /*drafts=*/false);
  ExpectTheHostsAnswers(Requests(), /*drafts=*/true);
}

TEST(DeviceChoice, RowsThatTheHostNeedsAreReadAndNoOthers) {
  std::vector<Request> requests = Requests();
  requests[1].sampling.logprobs = true;
  requests[4].n = 2;  // their first tokens come from one row
  ExpectTheHostsAnswers(requests, /*drafts=*/false);

  auto model = std::make_unique<KeepingModel>(Various);
  KeepingModel* counted = model.get();
  auto engine =
      Engine::Create(std::move(model), testing::ByteTokenizer(), Driver::Options(), nullptr);
  ASSERT_TRUE(engine.ok());
  Driver driver(*std::move(engine));
  for (const Request& request : requests) ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  int tokens = requests[0].max_tokens;
  EXPECT_EQ(counted->num_sampled, 3 * tokens + 2 * (tokens - 1));
  // Steps of the one alone that wants logprobs keep nothing.
  EXPECT_LE(counted->num_read, tokens + 1);
  EXPECT_GE(counted->num_read, 2);
}

// A forced token needs no logits, but its log probability does.
TEST(DeviceChoice, ForcedTokensHaveTheirLogProbabilities) {
  std::vector<Request> requests = Requests();
  requests[1].sampling.logprobs = true;
  requests[1].thinking = Thinking{"<", ">", /*is_open=*/true, /*anywhere=*/false, 0, {'>'}};
  std::vector<Outcome> ours, theirs;
  Answer(requests, std::make_unique<KeepingModel>(Various), false, &ours);
  Answer(requests, std::make_unique<FakeModel>(testing::TestInfo(), Various), false, &theirs);
  ASSERT_EQ(ours.size(), theirs.size());
  ASSERT_TRUE(ours[1].status.ok());
  ASSERT_EQ(ours[1].generated[0].id, '>');
  EXPECT_EQ(ours[1].generated[0].logprobs->chosen, theirs[1].generated[0].logprobs->chosen);
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(ours[i].choices, theirs[i].choices);
}

TEST(DeviceChoice, PromptsThatAreScoredAreReadWhole) {
  std::vector<Request> requests = Requests();
  requests[0].prompt_logprobs = requests[0].sampling.logprobs = true;
  requests[2].prompt_logprobs = requests[2].sampling.logprobs = true;
  requests[2].max_tokens = 0;
  ExpectTheHostsAnswers(requests, /*drafts=*/true);
  std::vector<Outcome> outcomes, hosts;
  Answer(requests, std::make_unique<KeepingModel>(Various), false, &outcomes);
  Answer(requests, std::make_unique<FakeModel>(testing::TestInfo(), Various), false, &hosts);
  for (size_t i : {0, 2}) {
    ASSERT_EQ(outcomes[i].prompt.size(), 4u);
    for (size_t token = 1; token < 4; ++token) {
      EXPECT_EQ(outcomes[i].prompt[token].logprobs->chosen,
                hosts[i].prompt[token].logprobs->chosen);
    }
  }
}

TEST(DeviceChoice, ADeviceThatFailsEndsTheRequestsOfTheStep) {
  auto model = std::make_unique<KeepingModel>(Various);
  KeepingModel* failing = model.get();
  auto engine =
      Engine::Create(std::move(model), testing::ByteTokenizer(), Driver::Options(), nullptr);
  ASSERT_TRUE(engine.ok());
  Driver driver(*std::move(engine));
  ASSERT_TRUE(driver.Add(MakeRequest(1)).ok());
  failing->fails = Unavailable("the device is lost");
  driver.Run();
  EXPECT_EQ(driver.Take(1).status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(driver.AllPagesFree());
  failing->fails = Status();
  ASSERT_TRUE(driver.Add(MakeRequest(2)).ok());
  driver.Run();
  EXPECT_TRUE(driver.Take(2).status.ok());
}

TEST(DeviceChoice, ARowWithoutATokenEndsItsRequestAlone) {
  auto broken = [](const std::vector<int32_t>& history, float* logits) {
    Various(history, logits);
    bool is_first = history[3] == 'd' + 1;
    if (is_first && history.size() > 6) logits[5] = std::nanf("");
  };
  std::vector<Outcome> outcomes;
  Answer(Requests(), std::make_unique<KeepingModel>(broken), false, &outcomes);
  EXPECT_EQ(outcomes[0].status.code(), StatusCode::kInternal);
  for (size_t i = 1; i < outcomes.size(); ++i) EXPECT_TRUE(outcomes[i].status.ok());
}

TEST(MakeSampleTask, BiasAndPenaltiesOfATokenAreOneChange) {
  Request request = MakeRequest(1);
  request.sampling.temperature = 0.5;
  request.sampling.frequency_penalty = 0.25;
  request.sampling.presence_penalty = 1;
  request.sampling.repetition_penalty = 2;
  request.sampling.logit_bias = {{7, 3.0f}, {9, -1.0f}, {9, -1.0f}, {-1, 5.0f}, {90000, 5.0f}};
  auto state = testing::StateOf(request);
  Sequence sequence(1, 0, state, testing::ByteTokenizer().get());
  for (int32_t token : {7, 8, 7}) sequence.PushDraft(token);
  Result<SampleTask> task = MakeSampleTask(kByteVocab, 5, &sequence);
  ASSERT_TRUE(task.ok());
  std::map<int32_t, LogitChange> changes;
  for (const LogitChange& change : task->changes) changes[change.token] = change;
  ASSERT_EQ(task->changes.size(), 3u);
  EXPECT_EQ(changes[7].bias, 3.0f);
  EXPECT_EQ(changes[7].repetition, 2.0f);
  EXPECT_EQ(changes[7].penalty, 1.5f);
  EXPECT_EQ(changes[8].bias, 0.0f);
  EXPECT_EQ(changes[8].penalty, 1.25f);
  EXPECT_EQ(changes[9].bias, -2.0f);
  EXPECT_EQ(changes[9].repetition, 1.0f);
  EXPECT_EQ(task->row, 5);
  EXPECT_EQ(task->scale, 2.0f);
  EXPECT_TRUE(task->mask.empty());
  EXPECT_LT(task->uniform, 1.0f);
}

}  // namespace
}  // namespace mlc
