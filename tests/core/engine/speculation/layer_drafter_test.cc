#include "engine/speculation/layer_drafter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "engine/engine_driver.h"
#include "support/byte_tokenizer.h"
#include "support/request_state.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::Driver;
using testing::kByteVocab;
using testing::TestInfo;

constexpr int32_t kFirst = 'x';  // every prompt begins with it

// The next token depends on the last one alone, so that a layer that lacks the beginning of a text
// guesses right too.
void Circle(const std::vector<int32_t>& history, float* logits) {
  logits['a' + (history.back() + 1) % 5] = 3.0f;
}

// The same, but the right token is the second likeliest behind every third one.
void SecondBest(const std::vector<int32_t>& history, float* logits) {
  Circle(history, logits);
  if (history.size() % 3 == 0) logits['z'] = 3.2f;
}

ModelInfo LayerInfo(int num_chosen = 0) {
  ModelInfo info = TestInfo();
  info.num_chosen_layers = num_chosen;
  info.prefill_chunk_size = 2048;
  info.draft_kind = kMtp;
  info.takes_states = true;
  return info;
}

// Counts rows by the state that they get.
struct Seen {
  int targets = 0;  // the target's, for exactly the tokens before the row
  int own = 0;      // the layer's own state of the row before: of drafts
  int gone = 0;     // zeros
  int wrong = 0;
};

// A layer that sees texts from their second token on. Its states are hashes of their tokens.
class Layer : public FakeModel {
 public:
  Layer(Seen* seen, int num_chosen, Script script)
      : FakeModel(LayerInfo(num_chosen), std::move(script)), seen_(seen) {}

  // The state of the last chosen layer is that of all of them.
  Result<const float*> RunHead(const std::vector<float>& vectors, int num_vectors) override {
    size_t width = vectors.size() / static_cast<size_t>(num_vectors), size = 4;
    EXPECT_EQ(width, static_cast<size_t>(info().state_size()));
    fused_.clear();
    for (size_t end = width; end <= vectors.size(); end += width) {
      auto behind = vectors.begin() + static_cast<ptrdiff_t>(end);
      for (auto value = behind - 4; value != behind; ++value) fused_.push_back(*value);
    }
    EXPECT_EQ(fused_.size(), size * static_cast<size_t>(num_vectors));
    return fused_.data();
  }

  Result<Outputs> Forward(const Batch& batch) override {
    std::vector<std::vector<float>> given;
    for (const float* state : batch.target_states) given.push_back({state, state + 4});
    MLC_ASSIGN_OR_RETURN(Outputs outputs, FakeModel::Forward(batch));
    for (int row = 0; row < batch.num_rows(); ++row) {
      std::vector<int32_t> before = Before(batch, row);
      std::vector<int32_t> whole = before;
      whole.insert(whole.begin(), kFirst);
      const std::vector<float>& state = given[static_cast<size_t>(row)];
      bool is_gone = std::all_of(state.begin(), state.end(), [](float x) { return x == 0; });
      int last = std::max(0, info().num_chosen_layers - 1);
      ++(state == HiddenState(whole, 4, last) ? seen_->targets
         : is_gone                            ? seen_->gone
         : state == HiddenState(before, 4)    ? seen_->own
                                              : seen_->wrong);
    }
    return outputs;
  }

 private:
  // The tokens of the rows before this one.
  std::vector<int32_t> Before(const Batch& batch, int row) const {
    int sequence = batch.row_sequence[static_cast<size_t>(row)];
    std::vector<int32_t> tokens;
    std::vector<char> page(static_cast<size_t>(info().page_bytes));
    for (int at = 0; at < batch.positions[static_cast<size_t>(row)]; ++at) {
      int index = batch.page_indptr[static_cast<size_t>(sequence)] + at / info().page_size;
      EXPECT_TRUE(ReadPages({batch.page_indices[static_cast<size_t>(index)]}, page.data()).ok());
      int32_t token;
      std::copy_n(page.data() + 4 * (at % info().page_size), 4, reinterpret_cast<char*>(&token));
      tokens.push_back(token);
    }
    return tokens;
  }

  Seen* seen_;
  std::vector<float> fused_;
};

class World {
 public:
  explicit World(DraftShape shape, EngineOptions options = Driver::Options(),
                 ModelInfo info = TestInfo(), FakeModel::Script script = Circle) {
    options.draft_shape = shape;
    auto layer = std::make_unique<Layer>(&seen, info.num_chosen_layers, std::move(script));
    auto drafter = LayerDrafter::Create(std::move(layer), kByteVocab, 1024);
    drafter_ = drafter->get();
    driver = std::make_unique<Driver>(
        testing::MakeEngine(Circle, options, nullptr, std::move(drafter).value(), info));
  }

  void Ask(RequestId id, const std::string& text, int max_tokens, int n = 1) {
    Request request;
    request.id = id;
    request.prompt = Bytes(std::string(1, kFirst) + text);
    request.max_tokens = max_tokens;
    request.n = n;
    request.ignore_eos = true;
    request.sampling.temperature = 0;
    EXPECT_TRUE(driver->Add(request).ok());
  }

  int accepted() const {
    const std::vector<int64_t>& counts = driver->engine().metrics().speculation.accept_count;
    int64_t sum = 0;
    for (size_t i = 1; i < counts.size(); ++i) sum += counts[i];
    return static_cast<int>(sum);
  }

  Seen seen;
  std::unique_ptr<Driver> driver;
  LayerDrafter* drafter_;
};

TEST(LayerDrafter, ABranchThatIsAcceptedGivesItsStates) {
  EngineOptions options = Driver::Options();
  options.prefix_cache = false;
  auto steps = [&](DraftShape shape) {
    World world(shape, options, TestInfo(), SecondBest);
    world.Ask(1, "abcdeabcde", 40);
    world.Ask(2, "bcd", 40);
    world.driver->Run();
    EXPECT_EQ(world.seen.wrong, 0);
    EXPECT_EQ(world.seen.gone, 0);
    EXPECT_GT(world.seen.targets, 10 + 3 + 40 + 40 - 10);
    EXPECT_TRUE(world.driver->AllPagesFree());
    return world.driver->engine().metrics().num_steps;
  };
  int64_t chains = steps({4, 1}), trees = steps({4, 2});
  EXPECT_LT(trees * 4, chains * 3) << trees << " " << chains;
}

TEST(LayerDrafter, EachRowGetsTheTargetsStateOfTheTokensBeforeIt) {
  EngineOptions options = Driver::Options();
  options.prefill_chunk_size = 16;  // prompts come in several steps
  options.prefix_cache = false;
  World world({3}, options);
  world.Ask(1, "abcdeabcdeabcdeabcdeabcde", 20);
  world.Ask(2, "bcd", 25);
  world.Ask(3, "a", 5);
  world.driver->Run();
  EXPECT_EQ(world.seen.wrong, 0);
  EXPECT_EQ(world.seen.gone, 0);
  // each token but the first one, and the last ones of an answer, has such a row
  EXPECT_GE(world.seen.targets, 25 + 3 + 1 + 20 + 25 + 5 - 3 * 5);
  EXPECT_GT(world.seen.own, 15);
  EXPECT_GT(world.accepted(), 25);
  EXPECT_TRUE(world.driver->AllPagesFree());
  EXPECT_EQ(world.drafter_->num_free_pages(), world.drafter_->num_pages());
}

TEST(LayerDrafter, StatesOfChosenLayersAreFused) {
  ModelInfo info = TestInfo();
  info.num_chosen_layers = 3;
  EngineOptions options = Driver::Options();
  options.prefill_chunk_size = 16;
  options.prefix_cache = false;  // the layer sees each text from its second token on
  World world({3}, options, info);
  world.Ask(1, "abcdeabcdeabcdeabcdeabcde", 20, 2);
  world.Ask(2, "bcd", 25);
  world.driver->Run();
  EXPECT_EQ(world.seen.wrong, 0);
  EXPECT_GE(world.seen.targets, 25 + 3 + 20 + 25 - 10);
  EXPECT_GT(world.accepted(), 25);
}

TEST(LayerDrafter, ARowIsComputedAgainWithTheTargetsStateBehindARefusedDraft) {
  World world({3});
  world.Ask(1, "abc", 30);
  world.driver->Run();
  // one row of the target's for each token, however many drafts there were
  EXPECT_LE(world.seen.targets, 3 + 30);
  EXPECT_EQ(world.seen.wrong, 0);
}

TEST(LayerDrafter, WithoutDraftsNothingIsComputed) {
  Seen seen;
  EngineOptions options = Driver::Options();
  auto layer = std::make_unique<Layer>(&seen, 0, Circle);
  auto drafter = LayerDrafter::Create(std::move(layer), kByteVocab, 1024);
  Driver driver(testing::MakeEngine(Circle, options, nullptr, std::move(drafter).value()));
  Request request;
  request.id = 1;
  request.prompt = Bytes("xabc");
  request.max_tokens = 1;
  EXPECT_TRUE(driver.Add(request).ok());
  driver.Run();
  EXPECT_EQ(seen.targets + seen.own, 0);
}

TEST(LayerDrafter, ChoicesShareTheRowsOfTheirPrompt) {
  World world({3});
  world.Ask(1, "abcdeabcdeabcdeabcde", 12, 3);
  world.driver->Run();
  EXPECT_EQ(world.seen.wrong, 0);
  EXPECT_LE(world.seen.targets, 20 + 3 * 12) << "the prompt's rows are computed once";
  EXPECT_LE(world.seen.gone, 2) << "the state of the prompt's last token, for the other choices";
}

TEST(LayerDrafter, ATurnThatBeginsInTheCacheGoesOnWithItsRows) {
  World world({3});
  world.Ask(1, "abcdeabcdeabcde", 10);
  world.driver->Run();
  int before = world.seen.targets;
  world.Ask(2, "abcdeabcdeabcdeabcdeabcdebcd", 10);
  world.driver->Run();
  EXPECT_EQ(world.seen.wrong, 0);
  EXPECT_LE(world.seen.targets - before, 28 - 16 + 10);
  EXPECT_LE(world.seen.gone, 1);
}

TEST(LayerDrafter, WithoutTheRowsOfACachedBeginningTheLayerSeesTheRest) {
  World world({3});
  world.Ask(1, "abcdeabcdeabcdeabcde", 1);  // ends before it drafts: nothing is computed
  world.driver->Run();
  EXPECT_EQ(world.seen.targets, 0);
  world.drafter_->Clear();
  world.Ask(2, "abcdeabcdeabcdeabcde", 20);
  world.driver->Run();
  EXPECT_GT(world.accepted(), 10) << "the guesses need only the last token";
}

TEST(LayerDrafter, OnlyTheLastStatesOfALongPromptWait) {
  ModelInfo info = TestInfo();
  info.context_window_size = 2048;
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 4096;
  options.context_window_size = 2048;
  Seen seen;
  ModelInfo layer = LayerInfo();
  layer.context_window_size = 2048;
  auto model = std::make_unique<FakeModel>(layer, Circle);
  FakeModel* counted = model.get();
  auto drafter = LayerDrafter::Create(std::move(model), kByteVocab, 4096);
  LayerDrafter* made = drafter->get();
  options.draft_shape = {3};
  Driver driver(testing::MakeEngine(Circle, options, nullptr, std::move(drafter).value(), info));
  Request request;
  request.id = 1;
  request.prompt = Bytes(std::string(1500, 'a'));
  request.max_tokens = 12;
  request.ignore_eos = true;
  EXPECT_TRUE(driver.Add(request).ok());
  driver.Run();
  int used = (made->num_pages() - made->num_free_pages()) * info.page_size;
  EXPECT_GE(used, LayerDrafter::kMostWaiting);
  EXPECT_LE(used, LayerDrafter::kMostWaiting + 12 + 2 * info.page_size);
  EXPECT_GT(counted->num_forwards(), 2);
}

TEST(LayerDrafter, FinishedTextsAreForgottenAlsoWhereNothingIsDrafted) {
  World world({});
  for (RequestId id = 1; id <= 300; ++id) {
    world.Ask(id, std::string(1 + id % 7, 'b'), 1);
    world.driver->Run();
  }
  EXPECT_EQ(world.drafter_->num_branches(), 256u);
}

TEST(LayerDrafter, CanDraftOnlyWhereItHasTheStates) {
  World world({});
  Request request;
  request.prompt = Bytes("abc");
  Sequence sequence(7, 0, testing::StateOf(std::move(request)), testing::ByteTokenizer().get());
  sequence.Accept({'d', std::nullopt}, 100);
  EXPECT_FALSE(world.drafter_->CanDraft(sequence));
  std::vector<float> states(3 * 4);
  world.drafter_->TakeStates(sequence, 0, 2, states.data());
  EXPECT_FALSE(world.drafter_->CanDraft(sequence)) << "the last one is missing";
  world.drafter_->TakeStates(sequence, 2, 1, states.data());
  EXPECT_TRUE(world.drafter_->CanDraft(sequence));
}

TEST(LayerDrafter, RecurrentTargetsAndTightPoolsGiveTheLayerTheSameStates) {
  ModelInfo info = TestInfo();
  info.state_bytes = FakeModel::StateBytes(info);
  info.token_trees = false;
  EngineOptions options = Driver::Options();
  options.max_total_tokens = 64;  // the engine preempts
  options.prefix_cache = false;
  World world({3}, options, info);
  for (RequestId id = 1; id <= 3; ++id)
    world.Ask(id, std::string(8, static_cast<char>('a' + id)), 40);
  world.driver->Run();
  EXPECT_GT(world.driver->engine().metrics().num_preemptions, 0);
  EXPECT_EQ(world.seen.wrong, 0);
  EXPECT_GT(world.accepted(), 20);
}

}  // namespace
}  // namespace mlc
