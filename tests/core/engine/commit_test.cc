#include "engine/commit.h"

#include <gtest/gtest.h>

#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::kByteVocab;
using testing::kEnd;

constexpr LogitRows kRows{kByteVocab + 2, kByteVocab};

std::shared_ptr<Sequence> MakeSequence(Request request) {
  request.prompt_tokens = Bytes("Hi");
  request.stop_token_ids = {kEnd};
  return std::make_shared<Sequence>(1, 0, std::make_shared<RequestState>(std::move(request)),
                                    testing::ByteTokenizer().get());
}

// Rows of logits, each with one likely token.
std::vector<float> Saying(const std::vector<int32_t>& tokens) {
  std::vector<float> logits(tokens.size() * kRows.stride, 0.0f);
  for (size_t row = 0; row < tokens.size(); ++row) logits[row * kRows.stride + tokens[row]] = 9;
  return logits;
}

Request Greedy() {
  Request request;
  request.sampling.temperature = 0;
  return request;
}

struct Case {
  const char* name;
  std::vector<int32_t> drafts, chosen;  // chosen: one more
  int max_tokens;
  std::vector<std::string> stops;
  int num_accepted;
  const char* text;
  bool finished;
};

TEST(CommitSequence, AcceptsDraftsThatWouldHaveBeenChosen) {
  const Case cases[] = {
      {"no drafts", {}, Bytes("a"), -1, {}, 0, "a", false},
      {"all right", Bytes("abc"), Bytes("abcd"), -1, {}, 3, "abcd", false},
      {"all wrong", Bytes("xyz"), Bytes("abcd"), -1, {}, 0, "a", false},
      {"the second wrong", Bytes("axc"), Bytes("abcd"), -1, {}, 1, "ab", false},
      {"max_tokens", Bytes("abc"), Bytes("abcd"), 2, {}, 2, "ab", true},
      {"a stop string", Bytes("abc"), Bytes("abcd"), -1, {"b"}, 2, "a", true},
      {"the end drafted", {'a', kEnd, 'c'}, {'a', kEnd, 'c', 'd'}, -1, {}, 1, "a", true},
      {"the end not drafted", Bytes("abc"), {'a', kEnd, 'c', 'd'}, -1, {}, 1, "a", true}};
  for (const Case& c : cases) {
    Request request = Greedy();
    request.max_tokens = c.max_tokens;
    request.stop_strings = c.stops;
    auto sequence = MakeSequence(request);
    std::vector<float> logits = Saying(c.chosen), scratch;
    SequenceCommit commit{sequence, c.drafts, logits.data()};
    CommitSequence(kRows, 100, &commit, &scratch);
    EXPECT_TRUE(commit.status.ok()) << c.name;
    EXPECT_EQ(commit.num_accepted, c.num_accepted) << c.name;
    EXPECT_EQ(sequence->finished(), c.finished) << c.name;
    sequence->Publish();
    ASSERT_EQ(sequence->request->deltas.size(), 1u) << c.name;
    EXPECT_EQ(sequence->request->deltas[0].text, c.text) << c.name;
  }
}

TEST(CommitSequence, PenaltiesOfARowCountTheRowsBefore) {
  Request request = Greedy();
  request.sampling.presence_penalty = 1.5;
  auto sequence = MakeSequence(request);
  std::vector<float> logits(3 * kRows.stride, 0.0f), scratch;
  for (int row = 0; row < 3; ++row) {
    logits[row * kRows.stride + 'a'] = 2;
    logits[row * kRows.stride + 'b'] = 1;
  }
  SequenceCommit commit{sequence, Bytes("ab"), logits.data()};
  CommitSequence(kRows, 100, &commit, &scratch);
  EXPECT_EQ(sequence->tokens(), Bytes("Hiaba"));
  EXPECT_EQ(commit.num_accepted, 2);
}

TEST(CommitSequence, ARowWithoutATokenEndsItThere) {
  auto sequence = MakeSequence(Greedy());
  std::vector<float> logits = Saying(Bytes("abc")), scratch;
  logits[kRows.stride] = std::numeric_limits<float>::quiet_NaN();
  SequenceCommit commit{sequence, Bytes("ab"), logits.data()};
  CommitSequence(kRows, 100, &commit, &scratch);
  EXPECT_EQ(commit.status.code(), StatusCode::kInternal);
  EXPECT_EQ(sequence->tokens(), Bytes("Hia"));
}

TEST(CommitSequence, PaddingOfTheVocabularyIsNeverChosen) {
  auto sequence = MakeSequence(Greedy());
  std::vector<float> logits = Saying({kByteVocab + 1}), scratch;
  logits['q'] = 1;
  SequenceCommit commit{sequence, {}, logits.data()};
  CommitSequence(kRows, 100, &commit, &scratch);
  EXPECT_EQ(sequence->tokens(), Bytes("Hiq"));
}

}  // namespace
}  // namespace mlc
