#include "engine/sequence.h"

#include <gtest/gtest.h>

#include "support/byte_tokenizer.h"
#include "support/request_state.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::kByteVocab;
using testing::kEnd;

std::shared_ptr<Sequence> MakeSequence(Request request) {
  request.prompt = Bytes("Hi");
  request.stop_token_ids = {kEnd};
  return std::make_shared<Sequence>(1, 0, testing::StateOf(std::move(request)),
                                    testing::ByteTokenizer().get());
}

Request JsonRequest() {
  static GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  Request request;
  request.grammar = *compiler.CompileJsonObject();
  return request;
}

// What chooses the next token: the grammar's mask and the random number.
std::vector<float> Next(Sequence* sequence) {
  std::vector<float> next(kByteVocab, 0.0f);
  EXPECT_TRUE(sequence->MaskByGrammar(next.data(), kByteVocab, next.data()).ok());
  next.push_back(static_cast<float>(sequence->NextUniform()));
  return next;
}

TEST(Sequence, MasksFilledAheadAreThoseOfTheirRows) {
  auto sequence = MakeSequence(JsonRequest()), other = MakeSequence(JsonRequest());
  std::vector<int32_t> drafts;
  for (char c : std::string("{\"k\": 1!")) drafts.push_back(c);
  drafts.push_back('x');  // nothing fits behind what does not fit
  std::atomic<bool> stop{false};
  sequence->FillMasksAhead(drafts, stop);
  for (size_t row = 0; row + 2 < drafts.size(); ++row) {
    EXPECT_EQ(Next(sequence.get()), Next(other.get())) << row;
    sequence->Accept({drafts[row], std::nullopt}, 100);
    other->Accept({drafts[row], std::nullopt}, 100);
  }
  sequence->FillMasksAhead({','}, stop);  // but another token is chosen
  sequence->Accept({'}', std::nullopt}, 100);
  sequence->ForgetMasks();
  other->Accept({'}', std::nullopt}, 100);
  EXPECT_EQ(Next(sequence.get()), Next(other.get()));
  stop = true;
  sequence->FillMasksAhead({}, stop);
  EXPECT_EQ(Next(sequence.get()), Next(other.get())) << "none was filled";
}

TEST(Sequence, DraftsCountUntilTheyAreTakenBack) {
  auto sequence = MakeSequence(JsonRequest());
  sequence->Accept({'{', std::nullopt}, 100);
  std::vector<float> before = Next(sequence.get());
  for (char c : std::string("\"k\":")) sequence->PushDraft(c);
  std::vector<float> drafted = Next(sequence.get());
  EXPECT_NE(drafted, before);
  EXPECT_EQ(sequence->counts().counts().at('"'), 2);
  sequence->PopDrafts();
  EXPECT_EQ(Next(sequence.get()), before);
  EXPECT_EQ(sequence->counts().counts(), (std::unordered_map<int32_t, int>{{'{', 1}}));
  EXPECT_EQ(sequence->tokens(), Bytes("Hi{"));
  for (char c : std::string("\"k\":")) sequence->Accept({c, std::nullopt}, 100);
  EXPECT_EQ(Next(sequence.get()), drafted) << "the same as if there had been no drafts";
}

TEST(Sequence, NothingFollowsADraftThatEndsTheAnswer) {
  auto text = MakeSequence(Request());
  text->PushDraft('a');
  EXPECT_FALSE(text->drafts_ended());
  text->PushDraft(kEnd);
  EXPECT_TRUE(text->drafts_ended());
  text->PopDrafts();
  EXPECT_FALSE(text->drafts_ended());

  auto json = MakeSequence(JsonRequest());
  json->PushDraft('{');
  std::vector<float> after_brace = Next(json.get());
  json->PushDraft('x');  // which the grammar does not allow
  EXPECT_TRUE(json->drafts_ended());
  json->PopDrafts();
  json->PushDraft('{');
  EXPECT_EQ(Next(json.get()), after_brace);
  json->PushDraft('}');
  json->PushDraft(kEnd);
  EXPECT_TRUE(json->drafts_ended());
  json->PopDrafts();
  EXPECT_EQ(json->num_drafts(), 0);
}

TEST(Sequence, PublishMovesWhatWasAcceptedOnce) {
  auto sequence = MakeSequence(Request());
  RequestState& request = *sequence->request;
  request.num_unfinished = 1;
  sequence->Accept({'a', std::nullopt}, 100);
  sequence->Accept({'b', std::nullopt}, 100);
  EXPECT_EQ(request.completion_tokens, 0);
  sequence->Publish();
  sequence->Publish();
  ASSERT_EQ(request.deltas.size(), 1u);
  EXPECT_EQ(request.deltas[0].text, "ab");
  EXPECT_EQ(request.completion_tokens, 2);
  sequence->Accept({kEnd, std::nullopt}, 100);
  sequence->Publish();
  EXPECT_EQ(request.deltas[1].finish, FinishReason::kStop);
  EXPECT_EQ(request.completion_tokens, 3);
  EXPECT_EQ(request.num_unfinished, 0);
}

}  // namespace
}  // namespace mlc
