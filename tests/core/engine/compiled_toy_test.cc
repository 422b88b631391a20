// The engine on a compiled model of layers of many kinds, whose prompts hold embedding rows: what
// is in the file that MLC_TEST_PROMPTS names, which tests/python/engine/test_mixed_layers.py writes
// with NumPy's answers. MLC_TEST_MODEL and MLC_TEST_MODEL_LIB name the model's folder and library.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "chat/load/model_loader.h"
#include "engine/engine_driver.h"
#include "engine/kv_state.h"
#include "engine/speculation/drafter.h"
#include "platform/file.h"

namespace mlc {
namespace {

using testing::Driver;
using testing::Outcome;

constexpr double kTolerance = 1e-4;  // of a log probability

// {"prompt": [token ids or rows of numbers, ...], "ids": [...], "logprobs": [...]}: a prompt, and
// the greedy answer of the reference.
struct Case {
  Prompt prompt;
  std::vector<int32_t> ids;
  std::vector<double> logprobs;
};

Prompt ReadPrompt(const Json& json) {
  Prompt prompt;
  std::vector<float> rows;
  int width = 0;
  auto flush = [&] {
    if (!rows.empty()) prompt.Append(*EmbeddingRows::Make(std::move(rows), width));
    rows.clear();
  };
  for (const Json& item : json.as_array()) {
    if (item.is_int()) {
      flush();
      prompt.Append({static_cast<int32_t>(item.as_int())});
      continue;
    }
    width = static_cast<int>(item.as_array().size());
    for (const Json& value : item.as_array()) rows.push_back(static_cast<float>(value.as_double()));
  }
  flush();
  return prompt;
}

// Drafts the answer to a prompt, with every third token wrong.
class HalfRight : public Drafter {
 public:
  explicit HalfRight(const Case& one) : ids_(one.ids) {}
  double seconds_per_draft(int) const override { return 0; }
  Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) override {
    std::vector<Drafts> drafts(tasks.size());
    for (size_t i = 0; i < tasks.size(); ++i) {
      const Sequence& sequence = *tasks[i].sequence;
      int at = sequence.num_tokens() - sequence.num_prompt_tokens();
      int end = std::min(at + tasks[i].max_drafts, static_cast<int>(ids_.size()));
      for (; at < end; ++at) drafts[i].Append(ids_[static_cast<size_t>(at)] ^ (at % 3 == 2));
    }
    return drafts;
  }

 private:
  std::vector<int32_t> ids_;
};

class CompiledToy : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("MLC_TEST_MODEL");
    const char* library = std::getenv("MLC_TEST_MODEL_LIB");
    const char* prompts = std::getenv("MLC_TEST_PROMPTS");
    if (folder == nullptr || library == nullptr || prompts == nullptr) {
      GTEST_SKIP() << "MLC_TEST_PROMPTS names no prompts";
    }
    files_.folder = folder;
    files_.library = library;
    Result<std::string> text = ReadFile(prompts, 1 << 24);
    ASSERT_TRUE(text.ok()) << text.status().message();
    Result<Json> json = Json::Parse(*text);
    ASSERT_TRUE(json.ok()) << json.status().message();
    for (const Json& one : json->as_array()) {
      Case read{ReadPrompt(*one.Find("prompt")), {}, {}};
      for (const Json& id : one.Find("ids")->as_array()) {
        read.ids.push_back(static_cast<int32_t>(id.as_int()));
      }
      for (const Json& logprob : one.Find("logprobs")->as_array()) {
        read.logprobs.push_back(logprob.as_double());
      }
      cases_.push_back(std::move(read));
    }
    ASSERT_GE(cases_.size(), 2u);
    ASSERT_TRUE(cases_[0].prompt.has_rows());
  }

  std::unique_ptr<Driver> MakeDriver(EngineOptions options = Driver::Options(),
                                     std::unique_ptr<Drafter> drafter = nullptr) {
    Result<ModelAndBundle> loaded = LoadModelFiles(files_, {}, "weights");
    MLC_ICHECK(loaded.ok());
    EXPECT_GT(loaded->model->info().state_bytes, 0);
    auto engine = Engine::Create(std::move(loaded->model), loaded->bundle.tokenizer, options,
                                 std::move(drafter));
    MLC_ICHECK(engine.ok());
    return std::make_unique<Driver>(std::move(engine).value());
  }

  Request Ask(RequestId id, const Case& one, int n = 1) {
    Request request;
    request.id = id;
    request.prompt = one.prompt;
    request.n = n;
    request.max_tokens = static_cast<int>(one.ids.size());
    request.sampling.temperature = 0;
    request.sampling.logprobs = true;
    request.ignore_eos = true;
    return request;
  }

  // That every choice is the reference's; the log probabilities of the first one.
  std::vector<float> Check(const Outcome& outcome, const Case& one) {
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
    std::vector<float> found;
    for (const auto& [index, choice] : outcome.choices) EXPECT_EQ(choice.tokens, one.ids) << index;
    if (outcome.choices.size() != 1) return found;
    for (const auto& token : outcome.generated) found.push_back(token.logprobs->chosen);
    for (size_t i = 0; i < std::min(found.size(), one.logprobs.size()); ++i) {
      EXPECT_NEAR(found[i], one.logprobs[i], kTolerance) << "token " << i;
    }
    return found;
  }

  std::vector<float> Answer(Driver* driver, RequestId id, const Case& one) {
    EXPECT_TRUE(driver->Add(Ask(id, one)).ok());
    driver->Run();
    return Check(driver->Take(id), one);
  }

  ModelFiles files_;
  std::vector<Case> cases_;
};

TEST_F(CompiledToy, AnyChunkGivesTheSameBits) {
  std::vector<float> whole = Answer(MakeDriver().get(), 1, cases_[0]);
  for (int chunk : {1, 5, 16, 17}) {
    EngineOptions options = Driver::Options();
    options.prefill_chunk_size = chunk;
    std::unique_ptr<Driver> driver = MakeDriver(options);
    EXPECT_EQ(Answer(driver.get(), 1, cases_[0]), whole) << chunk;
    EXPECT_EQ(Answer(driver.get(), 2, cases_[0]), whole) << "from a prefix, " << chunk;
    EXPECT_GE(driver->Take(2).usage.cached_tokens, 16);
    EXPECT_TRUE(driver->AllPagesFree());
  }
}

TEST_F(CompiledToy, AnyCompanyGivesTheSameBits) {
  std::vector<float> alone = Answer(MakeDriver().get(), 1, cases_[0]);
  std::unique_ptr<Driver> driver = MakeDriver();
  RequestId id = 0;
  for (const Case& one : cases_) {
    ASSERT_TRUE(driver->Add(Ask(++id, one)).ok());
    driver->Step();
  }
  ASSERT_TRUE(driver->Add(Ask(++id, cases_[1], 3)).ok());  // choices fork the state
  driver->Run();
  EXPECT_EQ(Check(driver->Take(1), cases_[0]), alone);
  for (size_t i = 1; i < cases_.size(); ++i) Check(driver->Take(i + 1), cases_[i]);
  Check(driver->Take(id), cases_[1]);
}

TEST_F(CompiledToy, DraftsAreTakenBack) {
  EngineOptions options = Driver::Options();
  options.draft_shape = {4, 1};
  for (const Case& one : cases_) {
    std::vector<float> plain = Answer(MakeDriver().get(), 1, one);
    std::unique_ptr<Driver> driver = MakeDriver(options, std::make_unique<HalfRight>(one));
    EXPECT_EQ(Answer(driver.get(), 1, one), plain);
    const SpecMetrics metrics = driver->engine().metrics().speculation;
    ASSERT_GE(metrics.draft_count.size(), 3u);
    EXPECT_GT(metrics.accept_count[1], 0) << "drafts were taken,";
    EXPECT_LT(metrics.accept_count[2], metrics.draft_count[2]) << "and refused";
  }
}

TEST_F(CompiledToy, PreemptedSequencesGoOn) {
  EngineOptions options = Driver::Options();
  int page = MakeDriver()->engine().info().page_size, num_pages = 1;
  for (int i : {0, 1}) num_pages += (cases_[i].prompt.size() + page - 1) / page;
  options.max_total_tokens = num_pages * page;  // both prompts fit, and one answer
  for (bool prefix_cache : {true, false}) {
    options.prefix_cache = prefix_cache;
    std::unique_ptr<Driver> driver = MakeDriver(options);
    for (RequestId id : {1, 2}) ASSERT_TRUE(driver->Add(Ask(id, cases_[id - 1])).ok());
    driver->Run();
    EXPECT_GE(driver->engine().metrics().num_preemptions, 1);
    for (RequestId id : {1, 2}) Check(driver->Take(id), cases_[id - 1]);
    EXPECT_TRUE(driver->AllPagesFree());
  }
}

TEST_F(CompiledToy, ASavedStateGoesOnElsewhere) {
  std::unique_ptr<Driver> driver = MakeDriver();
  std::vector<float> whole = Answer(driver.get(), 1, cases_[0]);
  Result<std::shared_ptr<KVState>> state = driver->engine().CopyState(0, cases_[0].prompt);
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_GT((*state)->head.state_bytes, 0);
  std::string bytes = EncodeKVHead((*state)->head);
  bytes += (*state)->body();
  bytes += EncodeKVTail((*state)->body());
  Result<KVFile> file = DecodeKVFile(bytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::unique_ptr<Driver> other = MakeDriver();
  Result<int> adopted = other->engine().AdoptState(*file);
  ASSERT_TRUE(adopted.ok()) << adopted.status().message();
  EXPECT_EQ(*adopted, static_cast<int>(file->head.tokens.size()));
  EXPECT_EQ(Answer(other.get(), 1, cases_[0]), whole);
  EXPECT_EQ(other->Take(1).usage.cached_tokens, *adopted);
}

}  // namespace
}  // namespace mlc
