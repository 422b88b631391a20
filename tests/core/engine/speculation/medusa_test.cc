#include "engine/speculation/medusa.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/engine_driver.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::Driver;
using testing::kByteVocab;
using testing::TestInfo;

constexpr int kHeads = 3;

int32_t After(int32_t token) { return 'a' + (token + 1) % 5; }

void Circle(const std::vector<int32_t>& history, float* logits) {
  logits[After(history.back())] = 3.0f;
}

// Knows the hidden states of some texts, and guesses what follows them. Head `wrong_head` is always
// wrong.
class Heads : public FakeModel {
 public:
  Heads(const std::vector<std::string>& prompts, int wrong_head)
      : FakeModel(Info(), Circle), wrong_head_(wrong_head) {
    for (const std::string& prompt : prompts) {
      std::vector<int32_t> text;
      for (size_t i = 0; i < 60; ++i) {
        text.push_back(i < prompt.size() ? prompt[i] : After(text.back()));
        last_[HiddenState(text, TestInfo().hidden_size)] = text.back();
      }
    }
  }

  Result<const float*> RunHead(const std::vector<float>& vectors, int num_vectors) override {
    ++num_calls;
    logits_.assign(static_cast<size_t>(num_vectors * info().head_size), 0);
    float* logits = logits_.data();
    int size = info().hidden_size;
    for (int i = 0; i < num_vectors; ++i) {
      auto known = last_.find({vectors.begin() + i * size, vectors.begin() + (i + 1) * size});
      if (known == last_.end()) ++num_unknown;
      int32_t token = known == last_.end() ? 'z' : After(known->second);
      for (int head = 0; head < kHeads; ++head, logits += kByteVocab) {
        token = After(token);
        logits[head == wrong_head_ ? 'z' : token] = 1;
      }
    }
    return logits_.data();
  }

  int num_calls = 0, num_unknown = 0;

 private:
  static ModelInfo Info() {
    ModelInfo info = TestInfo();
    info.head_size = kHeads * info.vocab_size;
    return info;
  }

  int wrong_head_;
  std::map<std::vector<float>, int32_t> last_;
  std::vector<float> logits_;
};

struct World {
  explicit World(std::vector<std::string> texts, int wrong_head = -1, int length = kHeads)
      : prompts(std::move(texts)) {
    EngineOptions options = Driver::Options();
    options.draft_shape = {length};
    auto model = std::make_unique<Heads>(prompts, wrong_head);
    heads = model.get();
    auto drafter = MedusaDrafter::Create(std::move(model), kByteVocab);
    driver = std::make_unique<Driver>(
        testing::MakeEngine(Circle, options, nullptr, std::move(drafter).value()));
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
  int64_t accepted(size_t place) const {
    std::vector<int64_t> counts = metrics().accept_count;
    return counts.size() > place ? counts[place] : 0;
  }

  std::vector<std::string> prompts;
  Heads* heads;
  std::unique_ptr<Driver> driver;
};

TEST(Medusa, HeadsReadTheStateBehindTheTokenBeforeTheLastOne) {
  World world({"abc", "xde", "y"});
  for (size_t i = 0; i < 3; ++i) world.Ask(static_cast<RequestId>(i + 1), world.prompts[i], 21);
  world.driver->Run();
  EXPECT_EQ(world.heads->num_unknown, 0);
  // 20 tokens behind the first one in steps of 1 + 3
  EXPECT_EQ(world.heads->num_calls, 5);
  for (size_t place = 1; place <= kHeads; ++place) EXPECT_EQ(world.accepted(place), 15) << place;
}

TEST(Medusa, AHeadThatIsWrongEndsTheAcceptedDrafts) {
  World world({"abc"}, /*wrong_head=*/1);
  world.Ask(1, "abc", 21);
  world.driver->Run();
  EXPECT_EQ(world.heads->num_unknown, 0) << "the state is of the last accepted row";
  EXPECT_EQ(world.accepted(1), 10);
  EXPECT_EQ(world.accepted(2), 0);
}

TEST(Medusa, ThereAreNoMoreDraftsThanHeads) {
  World world({"abc"}, -1, /*length=*/9);
  world.Ask(1, "abc", 21);
  world.driver->Run();
  EXPECT_EQ(world.metrics().draft_count.size(), size_t{kHeads} + 1);
  EXPECT_EQ(world.accepted(kHeads), 5);
}

TEST(Medusa, ChoicesAndCachedPromptsHaveStatesFromTheirFirstStep) {
  World world({"abcabcabcabc"});
  world.Ask(1, "abcabcabcabc", 12, /*n=*/2);
  world.driver->Run();
  world.Ask(2, "abcabcabcabc", 12);
  world.driver->Run();
  EXPECT_EQ(world.heads->num_unknown, 0);
  EXPECT_GE(world.accepted(1), 6);
}

TEST(Medusa, ItKeepsStatesOfAFewSequences) {
  auto made = MedusaDrafter::Create(std::make_unique<Heads>(std::vector<std::string>{}, 0), 8);
  MedusaDrafter& drafter = **made;
  std::vector<float> states(static_cast<size_t>(TestInfo().hidden_size));
  auto request = std::make_shared<RequestState>(Request(), std::vector<int32_t>{1, 2});
  for (size_t i = 0; i < 2 * LastStates::kMost; ++i) {
    Sequence sequence(static_cast<SequenceId>(i), 0, request, testing::ByteTokenizer().get());
    drafter.TakeStates(sequence, 0, 1, states.data());
  }
  EXPECT_EQ(drafter.num_states(), LastStates::kMost);
  drafter.Clear();
  EXPECT_EQ(drafter.num_states(), 0u);
}

TEST(Medusa, HeadsMustKnowTheWholeVocabulary) {
  auto heads = std::make_unique<Heads>(std::vector<std::string>{}, 0);
  Status status = MedusaDrafter::Create(std::move(heads), kByteVocab + 1).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.param(), "draft");
}

}  // namespace
}  // namespace mlc
