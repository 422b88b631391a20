#include "engine/thinking.h"

#include <gtest/gtest.h>

#include "engine/engine_driver.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::Driver;
using testing::kEnd;
using testing::MakeEngine;

Thinking Tags() {
  Thinking thinking;
  thinking.begin = "<t>";
  thinking.end = "</t>";
  thinking.end_tokens = Bytes("</t>");
  return thinking;
}

// Tokens of one byte each.
int CountTokens(const Thinking& thinking, const std::string& text) {
  ThinkingMeter meter(&thinking);
  for (char c : text) meter.Put(c, std::string(1, c));
  return meter.num_tokens();
}

TEST(ThinkingMeter, CountsWhatStandsBetween) {
  Thinking tags = Tags();
  const int end = 3;  // the bytes of "</t>" but the last, which closes
  EXPECT_EQ(CountTokens(tags, "<t>abcd</t>xyz"), 4 + end);
  EXPECT_EQ(CountTokens(tags, " \n<t>abcd"), 4);
  EXPECT_EQ(CountTokens(tags, "abcd"), 0);
  EXPECT_EQ(CountTokens(tags, "a<t>bcd</t>"), 0) << "thoughts come first";
  EXPECT_EQ(CountTokens(tags, "<t>a</t><t>b</t>"), 1 + end) << "and once";
  tags.anywhere = true;
  EXPECT_EQ(CountTokens(tags, "a<t>b</t>c<t>d</t>"), 2 * (1 + end));
  tags.is_open = true;
  EXPECT_EQ(CountTokens(tags, "ab</t>c"), 2 + end);
}

TEST(ThinkingMeter, ForcesTheEndAtTheLimit) {
  Thinking tags = Tags();
  tags.max_tokens = 2;
  ThinkingMeter meter(&tags);
  for (char c : std::string("<t>a")) {
    meter.Put(c, std::string(1, c));
    EXPECT_EQ(meter.forced(), std::nullopt);
  }
  meter.Put('b', "b");
  for (char c : std::string("</t>")) {
    EXPECT_EQ(meter.forced(), c);
    meter.Put(c, std::string(1, c));
  }
  EXPECT_EQ(meter.forced(), std::nullopt);
}

Request Ask(int max_tokens) {
  Request request;
  request.id = 1;
  request.prompt = Bytes("Hi");
  request.sampling.temperature = 0;
  request.stop_token_ids = {kEnd};
  request.thinking = Tags();
  request.thinking->max_tokens = max_tokens;
  return request;
}

testing::Outcome Generate(Request request) {
  // After "</t>" it says "yes", whatever came before.
  auto script = [](const std::vector<int32_t>& history, float* logits) {
    const std::string thoughts = "<t>0123456789</t>", answer = "yes";
    std::string text(history.begin() + 2, history.end());
    size_t end = text.find("</t>");
    size_t at = end == std::string::npos ? text.size() : text.size() - end - 4;
    const std::string& reply = end == std::string::npos ? thoughts : answer;
    logits[at < reply.size() ? reply[at] : kEnd] = 10.0f;
  };
  Driver driver(MakeEngine(script));
  EXPECT_TRUE(driver.Add(std::move(request)).ok());
  driver.Run();
  return driver.Take(1);
}

TEST(Thinking, TheEngineEndsItAtTheLimitAndGoesOn) {
  testing::Outcome free = Generate(Ask(-1));
  EXPECT_EQ(free.choices[0].text, "<t>0123456789</t>yes");
  EXPECT_EQ(free.usage.reasoning_tokens, 13);
  EXPECT_EQ(Generate(Ask(4)).choices[0].text, "<t>0123</t>yes");
  EXPECT_EQ(Generate(Ask(0)).choices[0].text, "<t></t>yes");
  Request open = Ask(0);
  open.thinking->is_open = true;
  EXPECT_EQ(Generate(std::move(open)).choices[0].text, "</t>yes");
}

}  // namespace
}  // namespace mlc
