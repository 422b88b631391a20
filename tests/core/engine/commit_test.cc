#include "engine/commit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "runtime/parallel.h"
#include "support/byte_tokenizer.h"
#include "support/request_state.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::kByteVocab;
using testing::kEnd;

constexpr LogitRows kRows{kByteVocab + 2, kByteVocab};

std::shared_ptr<Sequence> MakeSequence(Request request) {
  request.prompt = Bytes("Hi");
  request.stop_token_ids = {kEnd};
  return std::make_shared<Sequence>(1, 0, testing::StateOf(std::move(request)),
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
    std::vector<float> logits = Saying(c.chosen);
    SamplerScratch scratch;
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

TEST(CommitSequence, FollowsATreeDownTheTokensThatAreChosen) {
  // a (b (c), x (y)), z (b)
  Drafts tree = Bytes("abc");
  tree.Add('x', 0);
  tree.Append('y');
  tree.Add('z', Drafts::kKnown);
  tree.Append('b');
  struct {
    const char* chosen;  // behind the known tokens and each draft
    const char* text;
    int num_accepted, last_accepted;
  } const cases[] = {{"abcd.!..", "abcd", 3, 2}, {"axb.y!..", "axy!", 3, 4},
                     {"axb.q!..", "axq", 2, 3},  {"z.....b!", "zb!", 2, 6},
                     {"z.....q!", "zq", 1, 5},   {"q.......", "q", 0, Drafts::kKnown}};
  for (const auto& c : cases) {
    auto sequence = MakeSequence(Greedy());
    std::vector<float> logits = Saying(Bytes(c.chosen));
    SamplerScratch scratch;
    SequenceCommit commit{sequence, tree, logits.data()};
    CommitSequence(kRows, 100, &commit, &scratch);
    EXPECT_EQ(sequence->tokens(), Bytes(std::string("Hi") + c.text));
    EXPECT_EQ(commit.num_accepted, c.num_accepted) << c.text;
    EXPECT_EQ(commit.last_accepted, c.last_accepted) << c.text;
  }
}

TEST(ChooseTokens, AreTheOneThatIsChosenAndTheLikeliestOthers) {
  auto sequence = MakeSequence(Greedy());
  std::vector<float> logits(static_cast<size_t>(kRows.stride), -INFINITY);
  logits['a'] = 1;
  logits['b'] = 3;
  logits['c'] = 2;
  SamplerScratch scratch;
  auto tokens = [&](int count) {
    std::string out;
    auto chosen = ChooseTokens(kRows, sequence.get(), logits.data(), count, &scratch);
    for (const LikelyToken& token : *chosen) out.push_back(static_cast<char>(token.token));
    return out;
  };
  EXPECT_EQ(tokens(1), "b");
  EXPECT_EQ(tokens(2), "bc");
  EXPECT_EQ(tokens(9), "bca") << "no more are possible";
  Request request;
  request.sampling.temperature = 1;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    request.sampling.seed = seed;
    sequence = MakeSequence(request);
    int32_t chosen = *ChooseToken(kRows, sequence.get(), logits.data(), &scratch);
    EXPECT_EQ(tokens(3)[0], chosen);
    EXPECT_EQ(tokens(3).size(), 3u);
  }
}

TEST(CommitSequence, PenaltiesOfARowCountTheRowsBefore) {
  Request request = Greedy();
  request.sampling.presence_penalty = 1.5;
  auto sequence = MakeSequence(request);
  std::vector<float> logits(3 * kRows.stride, 0.0f);
  SamplerScratch scratch;
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
  std::vector<float> logits = Saying(Bytes("abc"));
  SamplerScratch scratch;
  logits[kRows.stride] = std::numeric_limits<float>::quiet_NaN();
  SequenceCommit commit{sequence, Bytes("ab"), logits.data()};
  CommitSequence(kRows, 100, &commit, &scratch);
  EXPECT_EQ(commit.status.code(), StatusCode::kInternal);
  EXPECT_EQ(sequence->tokens(), Bytes("Hia"));
}

TEST(CommitSequence, PaddingOfTheVocabularyIsNeverChosen) {
  auto sequence = MakeSequence(Greedy());
  std::vector<float> logits = Saying({kByteVocab + 1});
  SamplerScratch scratch;
  logits['q'] = 1;
  SequenceCommit commit{sequence, {}, logits.data()};
  CommitSequence(kRows, 100, &commit, &scratch);
  EXPECT_EQ(sequence->tokens(), Bytes("Hiq"));
}

// Enough rows of a large vocabulary that the worker pool takes part.
TEST(CommitSequences, AnyNumberOfThreadsChoosesTheSame) {
  constexpr int kStride = 20000, kSequences = 24;
  std::vector<float> logits(static_cast<size_t>(kStride) * kSequences);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * 2654435761u % 997);
  std::vector<std::vector<int32_t>> chosen;
  for (int threads : {1, 2, 3}) {
    std::thread([&] {
      SetComputeThreads(threads);
      std::vector<SequenceCommit> commits;
      std::vector<SamplerScratch> scratch;
      for (int i = 0; i < kSequences; ++i) {
        Request request;
        request.prompt = Bytes("Hi");
        request.sampling.seed = static_cast<uint64_t>(i);
        request.sampling.temperature = 50 + i;
        if (i % 2) request.sampling.top_p = 0.8;
        if (i % 3) request.sampling.top_k = 5 + i;
        if (i % 4 == 0) request.sampling.logit_bias = {{i, 900.0f}};
        auto state = testing::StateOf(std::move(request));
        commits.push_back({std::make_shared<Sequence>(i, 0, state, testing::ByteTokenizer().get()),
                           {},
                           logits.data() + static_cast<size_t>(i) * kStride});
      }
      CommitSequences({kStride, kStride}, 100, &commits, &scratch);
      chosen.emplace_back();
      for (const SequenceCommit& commit : commits) {
        EXPECT_TRUE(commit.status.ok());
        chosen.back().push_back(commit.sequence->tokens().back());
      }
    }).join();
  }
  EXPECT_EQ(chosen[0], chosen[1]);
  EXPECT_EQ(chosen[0], chosen[2]);
}

TEST(CommitSequence, AsksTheProcessorForEachTokenAndNotForGuesses) {
  Request request = Greedy();
  std::vector<size_t> lengths;
  request.logit_processor = std::make_shared<const LogitProcessor>(
      [&](const std::vector<int32_t>& tokens, int num_prompt, float* logits, int vocab_size) {
        EXPECT_EQ(num_prompt, 2);
        EXPECT_EQ(vocab_size, kRows.vocab_size);
        lengths.push_back(tokens.size());
        logits['z'] = 100;
        return Status();
      });
  auto sequence = MakeSequence(request);
  std::vector<float> logits = Saying(Bytes("abc"));
  SamplerScratch scratch;
  auto guesses = ChooseTokens(kRows, sequence.get(), logits.data(), 1, &scratch);
  ASSERT_TRUE(guesses.ok());
  EXPECT_EQ((*guesses)[0].token, 'a');
  EXPECT_TRUE(lengths.empty());
  SequenceCommit commit{sequence, Drafts(Bytes("za")), logits.data()};
  CommitSequence(kRows, 100, &commit, &scratch);
  EXPECT_EQ(commit.num_accepted, 1);  // "z" is chosen twice
  EXPECT_EQ(lengths, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(logits, Saying(Bytes("abc")));  // it gets copies
}

}  // namespace
}  // namespace mlc
