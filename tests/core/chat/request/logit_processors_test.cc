#include "chat/request/logit_processors.h"

#include <gtest/gtest.h>

#include "chat/chat_engine_fixture.h"

namespace mlc {
namespace {

using testing::Answer;

LogitProcessor Always(int token) {
  return [token](const std::vector<int32_t>&, int, float* logits, int) {
    logits[token] = 1000;
    return Status();
  };
}

using LogitProcessorsTest = testing::ChatEngineTest;

TEST_F(LogitProcessorsTest, TheRequestsThatNameOneHaveIt) {
  LoadReply("Hello");
  ASSERT_TRUE(engine_->SetLogitProcessor("x", Always('x')).ok());
  Answer with, without, text;
  Ask(R"("max_tokens": 3, "logit_processor": "x")", &with);
  Ask(R"("max_tokens": 3)", &without);
  EXPECT_EQ(with.Content(), "xxx");
  EXPECT_EQ(without.Content(), "Hel");
}

TEST_F(LogitProcessorsTest, ItSeesThePromptAndTheAnswer) {
  LoadReply("Hello");
  std::vector<std::pair<int, std::vector<int32_t>>> seen;
  auto look = [&](const std::vector<int32_t>& tokens, int num_prompt, float*, int vocab_size) {
    EXPECT_GT(vocab_size, 255);
    seen.emplace_back(num_prompt, std::vector<int32_t>(tokens.begin() + num_prompt, tokens.end()));
    return Status();
  };
  ASSERT_TRUE(engine_->SetLogitProcessor("look", look).ok());
  Answer answer;
  Ask(R"("max_tokens": 3, "logit_processor": "look")", &answer);
  EXPECT_EQ(answer.Content(), "Hel");  // it changes nothing
  ASSERT_EQ(seen.size(), 3u);
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_GT(seen[i].first, 0);
    EXPECT_EQ(seen[i].second.size(), i);
  }
  EXPECT_EQ(seen[2].second, (std::vector<int32_t>{'H', 'e'}));
}

TEST_F(LogitProcessorsTest, AnErrorEndsItsRequestAlone) {
  LoadReply("Hello");
  auto fail = [](const std::vector<int32_t>& tokens, int num_prompt, float*, int) {
    bool is_first = static_cast<int>(tokens.size()) == num_prompt;
    return is_first ? Status() : LogitProcessorFailed("said no");
  };
  ASSERT_TRUE(engine_->SetLogitProcessor("fail", fail).ok());
  Answer failed, fine;
  Submit(R"("logit_processor": "fail")", &failed);
  Submit(R"("max_tokens": 3)", &fine);
  ASSERT_TRUE(failed.WaitForEnd());
  ASSERT_TRUE(fine.WaitForEnd());
  EXPECT_EQ(failed.Code(), "logit_processor_failed");
  EXPECT_EQ(fine.Content(), "Hel");
}

TEST_F(LogitProcessorsTest, AnUnknownNameIsRefused) {
  LoadReply("Hello");
  std::string request = testing::HiJson(R"("logit_processor": "y")");
  EXPECT_NE(Refusal(request).message().find("there are none"), std::string::npos);
  ASSERT_TRUE(engine_->SetLogitProcessor("x", Always('x')).ok());
  Status status = Refusal(request);
  EXPECT_EQ(status.param(), "logit_processor");
  EXPECT_NE(status.message().find("there are x"), std::string::npos);
  ASSERT_TRUE(engine_->SetLogitProcessor("x", nullptr).ok());
  EXPECT_NE(Refusal(request).message().find("there are none"), std::string::npos);
}

}  // namespace
}  // namespace mlc
