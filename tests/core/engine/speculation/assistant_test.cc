#include "engine/speculation/assistant.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/engine_driver.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::Driver;
using testing::kByteVocab;
using testing::Outcome;
using testing::TestInfo;

constexpr int kWindow = 6;

int32_t After(int32_t token) { return 'a' + (token + 1) % 5; }

void Circle(const std::vector<int32_t>& history, float* logits) {
  logits[After(history.back())] = 3.0f;
}

// The same, but the right token is the second likeliest behind every third one.
void SecondBest(const std::vector<int32_t>& history, float* logits) {
  Circle(history, logits);
  if (history.size() % 3 == 0) logits['z'] = 3.2f;
}

// Some layers of the target have a window.
ModelInfo TargetInfo() {
  ModelInfo info = TestInfo();
  info.layer_window = kWindow;
  info.windowed_page_bytes = info.page_bytes;
  return info;
}

// Counts rows by the state that they get.
struct Seen {
  int targets = 0;  // the target's, for exactly the tokens that the row sees
  int own = 0;      // its own behind the draft before
  int wrong = 0;    // or the row does not see what it must see
};

// Reads the tokens in the pages of the target, as its layers do.
class Assistant : public FakeModel {
 public:
  Assistant(Seen* seen, Script script)
      : FakeModel(Info(), script), seen_(seen), script_(std::move(script)) {}

  Result<Outputs> Forward(const Batch& batch) override {
    logits_.assign(batch.logit_rows.size() * kByteVocab, 0);
    std::vector<float> states;
    for (int row = 0; row < batch.num_rows(); ++row) {
      auto at = static_cast<size_t>(row);
      std::vector<int32_t> seen = InPages(batch, row), path = seen;
      const float* given = batch.target_states[at];
      std::vector<float> state(given, given + info().hidden_size);
      int32_t token = batch.tokens[at];
      auto before = paths_.find(state);
      if (state == HiddenState(seen, info().hidden_size) && token == After(seen.back())) {
        ++seen_->targets;
      } else if (before != paths_.end() && before->second.seen == seen) {
        ++seen_->own;
        path = before->second.tokens;
      } else {
        ++seen_->wrong;
      }
      path.push_back(token);
      script_(path, logits_.data() + at * kByteVocab);
      std::vector<float> own = HiddenState(path, info().hidden_size, /*layer=*/7);
      paths_[own] = {seen, path};
      states.insert(states.end(), own.begin(), own.end());
    }
    states_ = std::move(states);
    Outputs outputs;
    outputs.logits = logits_.data();
    outputs.hidden_states = states_.data();
    return outputs;
  }

  FakeModel* target = nullptr;
  int num_pages = 0;  // of the target's first group

 private:
  struct Path {
    std::vector<int32_t> seen, tokens;  // in the pages, and with the drafts
  };

  static ModelInfo Info() {
    ModelInfo info = TestInfo();
    info.takes_states = info.reads_target_pages = true;
    return info;
  }

  int32_t TokenAt(int32_t page, int position) const {
    std::vector<int32_t> tokens(static_cast<size_t>(info().page_size));
    auto* bytes = reinterpret_cast<char*>(tokens.data());
    EXPECT_TRUE(target->ReadPages({page}, bytes).ok());
    return tokens[static_cast<size_t>(position % info().page_size)];
  }

  // What the row sees; {0} if a layer with a window would see something else.
  std::vector<int32_t> InPages(const Batch& batch, int row) const {
    int begin = batch.page_indptr[static_cast<size_t>(row)];
    int last = batch.positions[static_cast<size_t>(row)];
    std::vector<int32_t> tokens;
    for (int position = 0; position <= last; ++position) {
      auto index = static_cast<size_t>(begin + position / info().page_size);
      tokens.push_back(TokenAt(batch.page_indices[index], position));
      if (position <= last - kWindow) continue;
      int32_t windowed = batch.windowed_indices[index];
      bool is_same = windowed >= 0 && TokenAt(num_pages + windowed, position) == tokens.back();
      if (!is_same) return {0};
    }
    return tokens;
  }

  Seen* seen_;
  Script script_;
  std::map<std::vector<float>, Path> paths_;  // by the state that their last row gave
  std::vector<float> logits_, states_;
};

struct World {
  explicit World(DraftShape shape, EngineOptions options = Driver::Options(),
                 FakeModel::Script script = Circle) {
    options.draft_shape = shape;
    auto model = std::make_unique<Assistant>(&seen, std::move(script));
    Assistant* assistant = model.get();
    auto drafter = AssistantDrafter::Create(std::move(model), kByteVocab);
    driver = std::make_unique<Driver>(testing::MakeEngine(
        Circle, options, &assistant->target, std::move(drafter).value(), TargetInfo()));
    assistant->num_pages = NumPages(options, TargetInfo())[0];
  }

  void Ask(RequestId id, const std::string& prompt, int max_tokens, int n = 1) {
    Request request;
    request.id = id;
    request.prompt = Bytes(prompt);
    request.max_tokens = max_tokens;
    request.n = n;
    request.ignore_eos = true;
    request.sampling.temperature = 0;
    EXPECT_TRUE(driver->Add(request).ok());
  }

  SpecMetrics metrics() const { return driver->engine().metrics().speculation; }

  Seen seen;
  std::unique_ptr<Driver> driver;
};

TEST(Assistant, ItsRowsSeeTheTargetsPagesAndLastState) {
  World world({3});
  world.Ask(1, "abcdeabcdeabcdeabcdeabcde", 21);
  world.Ask(2, "bcd", 21);
  world.Ask(3, "a", 5);
  world.driver->Run();
  EXPECT_EQ(world.seen.wrong, 0);
  // 20 tokens behind the first one in steps of 1 + 3, and 4 of the third request
  EXPECT_EQ(world.seen.targets, 5 + 5 + 1);
  EXPECT_EQ(world.seen.own, 2 * world.seen.targets);
  EXPECT_EQ(world.metrics().accept_count, (std::vector<int64_t>{11, 11, 11, 11}));
  EXPECT_TRUE(world.driver->AllPagesFree());
}

TEST(Assistant, TheStateOfTheAcceptedBranchIsTheNext) {
  auto steps = [&](DraftShape shape) {
    World world(shape, Driver::Options(), SecondBest);
    world.Ask(1, "abcdeabcde", 40);
    world.Ask(2, "bcd", 40);
    world.driver->Run();
    EXPECT_EQ(world.seen.wrong, 0);
    EXPECT_TRUE(world.driver->AllPagesFree());
    return world.driver->engine().metrics().num_steps;
  };
  int64_t chains = steps({4, 1}), trees = steps({4, 2});
  EXPECT_LT(trees * 4, chains * 3) << trees << " " << chains;
}

TEST(Assistant, ChoicesTurnsAndPreemptedSequencesDraftOnceTheirRowsAreThere) {
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 64;
  options.prefill_chunk_size = 16;  // prompts come in several steps
  World world({3}, options);
  for (RequestId id = 1; id <= 4; ++id) world.Ask(id, "abcdeabcdeab", 40, 1 + id % 2);
  world.driver->Run();
  EXPECT_GT(world.driver->engine().metrics().num_preemptions, 0);
  for (RequestId id = 1; id <= 4; ++id) {
    Outcome outcome = world.driver->Take(id);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
    for (const auto& [choice, made] : outcome.choices) EXPECT_EQ(made.tokens.size(), 40u);
  }
  world.Ask(5, "abcdeabcdeabcdeabcdeab", 12);  // begins in the prefix cache
  world.driver->Run();
  EXPECT_EQ(world.seen.wrong, 0);
  EXPECT_GT(world.seen.targets, 30);
  EXPECT_EQ(world.driver->Take(5).choices[0].tokens.size(), 12u);
  EXPECT_TRUE(world.driver->AllPagesFree());
}

TEST(Assistant, ItMustKnowTheWholeVocabulary) {
  Seen seen;
  auto model = std::make_unique<Assistant>(&seen, Circle);
  Status status = AssistantDrafter::Create(std::move(model), kByteVocab + 1).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.param(), "draft");
}

}  // namespace
}  // namespace mlc
