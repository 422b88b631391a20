#include "engine/speculation/prediction.h"

#include <gtest/gtest.h>

#include "engine/engine_driver.h"
#include "support/byte_tokenizer.h"
#include "support/request_state.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::Driver;
using testing::MakeEngine;
using testing::Outcome;

// The drafts for an answer so far, in a request with that prediction.
std::string Drafted(const std::string& prediction, const std::string& answer, int max_drafts) {
  Request request;
  request.prompt = Bytes("Say: ");
  request.prediction = Bytes(prediction);
  Sequence sequence(0, 0, testing::StateOf(std::move(request)), testing::ByteTokenizer().get());
  for (int32_t token : Bytes(answer)) sequence.Accept({token, std::nullopt}, 1000);
  std::string text;
  Drafts drafts = LookUpPrediction(sequence, max_drafts);
  for (int32_t token : drafts.tokens()) text.push_back(static_cast<char>(token));
  return text;
}

struct Case {
  const char *prediction, *answer;
  int max_drafts;
  const char* drafts;
};

TEST(LookUpPrediction, GoesOnWhereTheAnswerIs) {
  const Case cases[] = {{"", "a", 4, ""},
                        {"abcdef", "a", 3, "bcd"},  // the first token alone is enough
                        {"abcdef", "abcd", 9, "ef"},
                        {"abcdef", "abcdef", 9, ""},  // nothing is left
                        {"abcdef", "abX", 4, ""},
                        {"abcdef", "abXd", 4, ""},  // one token found again is no evidence
                        {"abcdef", "abXde", 4, "f"},
                        {"abcdef", "abde", 4, "f"},               // c was left out
                        {"abcdef", "abc123de", 4, "f"},           // 123 was put in
                        {"1abc 2abd 3abe", "1abc 2ab", 2, "d "},  // the longest run wins
                        {"x=1;\nx=1;\ny", "x=1;\nx=1;\n", 1, "y"},
                        {"ab1ab2ab3", "zzzzab", 1, "2"},  // of equal places the nearest one
                        {": abc", "q", 4, ""}};           // the prompt is not a part of the answer
  for (const Case& c : cases) {
    EXPECT_EQ(Drafted(c.prediction, c.answer, c.max_drafts), c.drafts)
        << c.prediction << " after " << c.answer;
  }
}

// Its likeliest letters come around only after 26.
void Alphabet(const std::vector<int32_t>& history, float* logits) {
  logits['a' + (history.back() + 1 - 'a') % 26] = 9;
}

Request AskAlphabet() {
  Request request;
  request.id = 1;
  request.prompt = Bytes("a");
  request.max_tokens = 50;
  request.ignore_eos = true;
  request.sampling.temperature = 0;
  return request;
}

TEST(Prediction, SavesSteps) {
  const std::string answer = "bcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxy";
  std::string prediction = answer;
  prediction.replace(19, 2, "!");
  for (bool looks_up : {false, true}) {
    EngineOptions options = Driver::Options();
    options.jump_forward = false;
    options.draft_shape.length = 4;
    options.lookup = looks_up ? Lookup::kAllTexts : Lookup::kNone;
    Driver driver(MakeEngine(Alphabet, options));
    Request request = AskAlphabet();
    request.prediction = Bytes(prediction);
    ASSERT_TRUE(driver.Add(request).ok());
    driver.Run();
    Metrics metrics = driver.engine().metrics();
    Outcome outcome = driver.Take(1);
    EXPECT_EQ(outcome.choices[0].text, answer);
    EXPECT_LE(metrics.num_steps, 15) << looks_up;
    EXPECT_GE(*outcome.usage.accepted_prediction_tokens, 35);
    EXPECT_GE(*outcome.usage.rejected_prediction_tokens, 1) << "the letters that were changed";
    EXPECT_LE(*outcome.usage.rejected_prediction_tokens, 4);
    const SpecMetrics::Total& total = metrics.speculation.prediction;
    EXPECT_EQ(total.accepted, *outcome.usage.accepted_prediction_tokens);
    EXPECT_EQ(total.drafts - total.accepted, *outcome.usage.rejected_prediction_tokens);
  }
}

TEST(Prediction, OneThatIsAlwaysWrongHidesNoLookup) {
  EngineOptions options = Driver::Options();
  options.draft_shape.length = 4;
  options.lookup = Lookup::kOwnText;
  Driver driver(MakeEngine(Alphabet, options));
  Request request = AskAlphabet();
  request.max_tokens = 80;
  std::string prediction;  // the place is found behind each letter, and what follows is wrong
  for (char c = 'a'; c < 'z'; ++c) prediction += {c, static_cast<char>(c + 1), '!'};
  request.prediction = Bytes(prediction);
  ASSERT_TRUE(driver.Add(request).ok());
  driver.Run();
  EXPECT_LE(driver.engine().metrics().num_steps, 45) << "from the second alphabet on, it is found";
}

TEST(Prediction, ARequestWithoutOneCountsNone) {
  Driver driver(MakeEngine(Alphabet, Driver::Options(), nullptr, nullptr));
  ASSERT_TRUE(driver.Add(AskAlphabet()).ok());
  driver.Run();
  EXPECT_FALSE(driver.Take(1).usage.accepted_prediction_tokens.has_value());
}

}  // namespace
}  // namespace mlc
