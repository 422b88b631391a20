#include "chat/answer/answerer.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "chat/test_model.h"

namespace mlc {
namespace {

using Events = std::vector<std::pair<ChatEventKind, std::string>>;

std::unique_ptr<Answerer> Completion(const std::string& json, size_t num_prompts, Events* events,
                                     bool throws = false) {
  auto request = protocol::CompletionRequest::Parse(*Json::Parse(json));
  MLC_ICHECK(request.ok());
  AnswerOptions options{"m", testing::ByteTokenizer()};
  return AnswerCompletion(*request, std::vector<std::string>(num_prompts), std::move(options),
                          [=](ChatEventKind kind, const std::string& text) {
                            events->emplace_back(kind, text);
                            if (throws) throw std::runtime_error("a caller's mistake");
                          });
}

RequestEvent Last(const std::string& text, Status status = Status()) {
  RequestEvent event;
  Delta& delta = event.deltas.emplace_back();
  delta.text = text;
  delta.finish = FinishReason::kStop;
  event.finished = true;
  event.status = std::move(status);
  return event;
}

TEST(Answerer, AnAnswerToSeveralPromptsEndsOnce) {
  Events events;
  auto answerer = Completion(R"({"prompt": ["a", "b"], "stream": true})", 2, &events);
  answerer->Take(1, Last("x"));
  EXPECT_FALSE(answerer->ended());
  answerer->Take(0, Last("y"));
  EXPECT_TRUE(answerer->ended());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].first, ChatEventKind::kDone);
}

TEST(Answerer, TheFirstErrorEndsIt) {
  Events events;
  auto answerer = Completion(R"({"prompt": ["a", "b"]})", 2, &events);
  answerer->Take(0, Last("", ResourceExhausted("no room")));
  answerer->Take(1, Last("x"));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].first, ChatEventKind::kError);
  EXPECT_NE(events[0].second.find("no room"), std::string::npos);
}

TEST(Answerer, ACallbackThatThrowsStillGetsTheEnd) {
  Events events;
  auto answerer = Completion(R"({"prompt": "a", "stream": true})", 1, &events, /*throws=*/true);
  answerer->Take(0, Last("x"));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].first, ChatEventKind::kChunk);
  EXPECT_EQ(events[1].first, ChatEventKind::kDone);
}

}  // namespace
}  // namespace mlc
