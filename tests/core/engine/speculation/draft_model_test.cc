#include "engine/speculation/draft_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/fake_model.h"
#include "support/byte_tokenizer.h"
#include "support/embedding_rows.h"
#include "support/request_state.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::kByteVocab;
using testing::kEnd;

ModelInfo SmallDraft() {
  ModelInfo info = FakeModel::SmallInfo();
  info.vocab_size = kByteVocab + 6;  // padded further than the target's
  info.max_batch_size = 8;
  return info;
}

std::unique_ptr<DraftModel> MakeDraft(FakeModel::Script script, int max_total_tokens = 256,
                                      FakeModel** model = nullptr, ModelInfo info = SmallDraft()) {
  auto fake = std::make_unique<FakeModel>(info, std::move(script));
  if (model != nullptr) *model = fake.get();
  return *DraftModel::Create(std::move(fake), kByteVocab, max_total_tokens);
}

FakeModel::Script Hash() { return FakeModel::HashOfHistory(kByteVocab); }

class Text {
 public:
  explicit Text(const std::string& prompt, Request request = {}) {
    static SequenceId next = 1;
    request.prompt = Bytes(prompt);
    request.stop_token_ids = {kEnd};
    sequence_ = std::make_unique<Sequence>(next++, 0, testing::StateOf(std::move(request)),
                                           testing::ByteTokenizer().get());
  }
  Sequence* get() { return sequence_.get(); }
  void Accept(int32_t token) { sequence_->Accept({token, std::nullopt}, 1000); }
  // What a model with `script` says next, `count` tokens; the text stays as it is.
  Drafts Continuation(const FakeModel::Script& script, int count) {
    Drafts out;
    SamplerScratch scratch;
    std::vector<int32_t> history = sequence_->tokens();
    for (int i = 0; i < count; ++i) {
      std::vector<float> logits(kByteVocab, 0.0f);
      script(history, logits.data());
      out.Append(*ChooseToken({kByteVocab, kByteVocab}, get(), logits.data(), &scratch));
      history.push_back(out[i]);
      sequence_->PushDraft(out[i]);
    }
    sequence_->PopDrafts();
    return out;
  }

 private:
  std::unique_ptr<Sequence> sequence_;
};

Request Sampled(uint64_t seed) {
  Request request;
  request.sampling.temperature = 1.5;
  request.sampling.seed = seed;
  request.sampling.presence_penalty = 1;
  return request;
}

TEST(DraftModel, DraftsWhatTheModelWouldSayWithTheSameNumbers) {
  auto draft = MakeDraft(Hash());
  Text a("a prompt longer than a chunk", Sampled(1)), b("another", Sampled(2)), c("x");
  const std::vector<DraftTask> tasks = {{a.get(), 5}, {b.get(), 2}, {c.get(), 7}};
  std::vector<Drafts> drafts;
  for (int call = 0; call < 3; ++call) drafts = *draft->Draft(tasks);  // chunks of 16 rows
  EXPECT_EQ(drafts[0], a.Continuation(Hash(), 5));
  EXPECT_EQ(drafts[1], b.Continuation(Hash(), 2));
  EXPECT_EQ(drafts[2], c.Continuation(Hash(), 7));
  EXPECT_EQ(a.get()->num_drafts(), 0);
  EXPECT_EQ(a.get()->tokens(), Bytes("a prompt longer than a chunk"));
}

// 'a' or 'b' behind 'a', 'p' or 'q' behind 'b', 'z' behind others; the first is likelier.
void Forking(const std::vector<int32_t>& history, float* logits) {
  std::fill(logits, logits + kByteVocab, -20.0f);
  std::vector<int32_t> next = Bytes(history.back() == 'a'   ? "ab"
                                    : history.back() == 'b' ? "pq"
                                                            : "z");
  logits[next[0]] = 1.0f;
  if (next.size() > 1) logits[next[1]] = 0.5f;
}

TEST(DraftModel, ATreeHasTheChosenChainAndTheLikeliestOthers) {
  FakeModel* model;
  auto draft = MakeDraft(Forking, 256, &model);
  Request greedy;
  greedy.sampling.temperature = 0;
  Text text("a", greedy);
  Drafts tree = (*draft->Draft({{text.get(), 3, 2}}))[0];
  EXPECT_EQ(tree[0], 'a');
  EXPECT_EQ(tree.FirstChain(), 3);
  EXPECT_EQ(tree.PathTokens(2), Bytes("aaa"));
  EXPECT_NE(tree.Child(Drafts::kKnown, 'b'), Drafts::kNone);
  EXPECT_EQ(tree.size(), 6);
  EXPECT_EQ(model->num_forwards(), 3) << "one for each depth";
  EXPECT_EQ(tree, tree.DepthFirst());
  std::vector<int> of_depth(4, 0);
  for (int i = 0; i < tree.size(); ++i) ++of_depth[static_cast<size_t>(tree.depth(i))];
  EXPECT_EQ(of_depth, (std::vector<int>{0, 2, 2, 2}));
}

TEST(DraftModel, TreesOfAnyWidthHoldTheChainAndLeaveNothingBehind) {
  FakeModel* model;
  auto draft = MakeDraft(Hash(), 256, &model);
  Text a("a prompt longer than a chunk", Sampled(1)), b("another", Sampled(2)), c("x");
  for (int round = 0; round < 5; ++round) {
    std::vector<DraftTask> tasks = {{a.get(), 5, 4}, {b.get(), 2, 2}, {c.get(), 7, 1}};
    std::vector<Drafts> drafts = *draft->Draft(tasks);
    if (round < 3) continue;  // chunks of 16 rows
    for (size_t i = 0; i < tasks.size(); ++i) {
      Text* text = i == 0 ? &a : i == 1 ? &b : &c;
      Drafts chain = text->Continuation(Hash(), tasks[i].max_drafts);
      EXPECT_EQ(drafts[i].FirstChain(), tasks[i].max_drafts);
      EXPECT_EQ(drafts[i].PathTokens(tasks[i].max_drafts - 1), chain.tokens());
      EXPECT_EQ(text->get()->num_drafts(), 0);
      std::vector<int> of_depth(9, 0);
      for (int j = 0; j < drafts[i].size(); ++j) {
        ++of_depth[static_cast<size_t>(drafts[i].depth(j))];
      }
      // Three texts share the eight rows of a batch.
      EXPECT_EQ(*std::max_element(of_depth.begin(), of_depth.end()), std::min(2, tasks[i].width));
    }
  }
  draft->Clear();
  EXPECT_EQ(draft->num_free_pages(), draft->num_pages());
}

TEST(DraftModel, ATreeWithoutRoomIsASmallerOne) {
  auto draft = MakeDraft(Hash(), /*max_total_tokens=*/16);
  Text text("abcdefghij", Sampled(4));
  Drafts drafts = (*draft->Draft({{text.get(), 5, 6}}))[0];
  Drafts chain = text.Continuation(Hash(), 5);
  ASSERT_FALSE(drafts.empty());
  EXPECT_EQ(drafts[0], chain[0]);
  draft->Clear();
  EXPECT_EQ(draft->num_free_pages(), draft->num_pages());
}

TEST(DraftModel, ALongPromptDoesNotHoldUpOthers) {
  auto draft = MakeDraft(Hash());
  Text brief("x"), lengthy(std::string(40, 'p'));
  std::vector<Drafts> drafts = *draft->Draft({{lengthy.get(), 2}, {brief.get(), 2}});
  EXPECT_TRUE(drafts[0].empty());
  EXPECT_EQ(drafts[1].size(), 2);
}

TEST(DraftModel, FollowsWhateverTheTargetAccepts) {
  FakeModel* model;
  auto draft = MakeDraft(Hash(), 256, &model);
  Text text("Hi", Sampled(3));
  for (int round = 0; round < 8; ++round) {
    Drafts drafts = (*draft->Draft({{text.get(), 4}}))[0];
    EXPECT_EQ(drafts, text.Continuation(Hash(), 4)) << round;
    for (int i = 0; i < round % 5; ++i) text.Accept(drafts[i]);
    text.Accept('a' + round);
  }
  EXPECT_LE(model->num_forwards(), 8 * 4) << "nothing was computed twice";
}

TEST(DraftModel, ChoicesBeginWithWhatIsThere) {
  FakeModel* model;
  auto draft = MakeDraft(Hash(), 256, &model);
  std::string prompt(40, 'p');
  Text first(prompt, Sampled(1)), second(prompt, Sampled(2));
  for (int call = 0; call < 3; ++call) (void)draft->Draft({{first.get(), 1}});
  int before = model->num_forwards();
  EXPECT_EQ((*draft->Draft({{second.get(), 3}}))[0], second.Continuation(Hash(), 3));
  EXPECT_EQ(model->num_forwards() - before, 3);
  EXPECT_EQ((*draft->Draft({{first.get(), 3}}))[0], first.Continuation(Hash(), 3));
}

TEST(DraftModel, RoomIsMadeAtTheCostOfTheLongestUnused) {
  auto draft = MakeDraft(Hash(), /*max_total_tokens=*/40);
  std::vector<Text> texts;
  for (char c = 'a'; c < 'a' + 6; ++c) texts.emplace_back(std::string(15, c));
  for (int round = 0; round < 3; ++round) {
    for (Text& text : texts) {
      EXPECT_EQ((*draft->Draft({{text.get(), 3}}))[0], text.Continuation(Hash(), 3));
      EXPECT_LE(draft->num_free_pages(), 6);
    }
  }
  // Four at once are too many: some do without.
  std::vector<DraftTask> tasks;
  for (int i = 0; i < 4; ++i) tasks.push_back({texts[static_cast<size_t>(i)].get(), 3});
  std::vector<Drafts> drafts = *draft->Draft(tasks);
  for (size_t i = 0; i < 4; ++i) {
    Drafts expected = texts[i].Continuation(Hash(), 3);
    expected.Truncate(drafts[i].size());
    EXPECT_EQ(drafts[i], expected);
  }
}

TEST(DraftModel, ClearFreesAllAndHarmsNobody) {
  auto draft = MakeDraft(Hash());
  Text text("a prompt", Sampled(1));
  (void)draft->Draft({{text.get(), 3}});
  EXPECT_LT(draft->num_free_pages(), draft->num_pages());
  draft->Clear();
  EXPECT_EQ(draft->num_free_pages(), draft->num_pages());
  EXPECT_EQ((*draft->Draft({{text.get(), 3}}))[0], text.Continuation(Hash(), 3));
}

TEST(DraftModel, EndsWhereTheAnswerEnds) {
  auto draft = MakeDraft(FakeModel::Reply(2, Bytes("abc"), kEnd));
  Text text("Hi");
  Drafts expected = Bytes("abc");
  expected.Append(kEnd);
  EXPECT_EQ((*draft->Draft({{text.get(), 8}}))[0], expected);
}

TEST(DraftModel, KeepsToTheGrammar) {
  GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  auto draft = MakeDraft([](const auto&, float* logits) {
    logits['x'] = 9;
    logits['}'] = 2;
    logits['{'] = 1;
  });
  Request request;
  request.sampling.temperature = 0;
  request.grammar = *compiler.CompileJsonObject();
  Text text("JSON", request);
  Drafts drafts = (*draft->Draft({{text.get(), 2}}))[0];
  EXPECT_EQ(drafts, Bytes("{}"));
}

TEST(DraftModel, DraftsNothingWhereItCannot) {
  ModelInfo narrow = SmallDraft();
  narrow.context_window_size = 10;
  auto draft = MakeDraft(Hash(), 256, nullptr, narrow);
  Text fits("12345"), too_long("12345678901"), unknown("1");
  unknown.Accept(narrow.vocab_size);
  std::vector<Drafts> drafts =
      *draft->Draft({{fits.get(), 5}, {too_long.get(), 1}, {unknown.get(), 1}});
  EXPECT_EQ(drafts[0].size(), 5);
  EXPECT_TRUE(drafts[1].empty());
  EXPECT_TRUE(drafts[2].empty());
  EXPECT_TRUE(draft->CanDraft(*fits.get()));
  EXPECT_FALSE(draft->CanDraft(*too_long.get()));
  EXPECT_FALSE(draft->CanDraft(*unknown.get()));
  Text nearly("12345678");
  EXPECT_EQ((*draft->Draft({{nearly.get(), 5}}))[0].size(), 2) << "up to the end of its context";
  Request picture;
  picture.prompt.Append(testing::Rows(1, 3));
  picture.prompt.Append({'a'});
  Sequence pictured(1000, 0, testing::StateOf(std::move(picture)), testing::ByteTokenizer().get());
  EXPECT_FALSE(draft->CanDraft(pictured));
  auto broken = MakeDraft([](const auto&, float* logits) { logits[0] = NAN; });
  EXPECT_TRUE((*broken->Draft({{fits.get(), 5}}))[0].empty());
  EXPECT_EQ(fits.get()->num_drafts(), 0);
}

TEST(DraftModel, AFailureLeavesTheSequencesAsTheyWere) {
  for (int fail_at : {0, 1, 2}) {
    FakeModel* model;
    auto draft = MakeDraft(Hash(), 256, &model);
    model->FailForward(fail_at, Internal("device lost"));
    Text text("Hi");
    EXPECT_EQ(draft->Draft({{text.get(), 5}}).status().message(), "device lost");
    EXPECT_EQ(text.get()->num_drafts(), 0);
  }
}

TEST(DraftModel, ALibraryThatTakesAdaptersGetsTheirTensors) {
  struct Adapted : FakeModel {
    explicit Adapted(int* groups) : FakeModel(AdaptedInfo(), Hash()), groups(groups) {}
    static ModelInfo AdaptedInfo() {
      ModelInfo info = SmallDraft();
      info.adapters = std::make_shared<AdapterSpec>(SmallAdapters());
      return info;
    }
    Status AllocateAdapters(int count) override {
      *groups = count;
      return Status();
    }
    int* groups;
  };
  int groups = -1;
  ASSERT_TRUE(DraftModel::Create(std::make_unique<Adapted>(&groups), kByteVocab, 64).ok());
  EXPECT_EQ(groups, 0);  // no room: a step of a library for GPUs takes the tensors anyway
}

TEST(DraftModel, RefusesWhatCannotDraft) {
  ModelInfo info = SmallDraft();
  info.vocab_size = kByteVocab - 1;
  Status status =
      DraftModel::Create(std::make_unique<FakeModel>(info, Hash()), kByteVocab, 64).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.param(), "draft");
  info = SmallDraft();
  info.sliding_window_size = 32;
  status = DraftModel::Create(std::make_unique<FakeModel>(info, Hash()), kByteVocab, 64).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  info = SmallDraft();
  info.state_bytes = FakeModel::StateBytes(info);
  status = DraftModel::Create(std::make_unique<FakeModel>(info, Hash()), kByteVocab, 64).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.param(), "draft");
}

}  // namespace
}  // namespace mlc
