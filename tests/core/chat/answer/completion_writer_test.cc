#include "chat/answer/completion_writer.h"

#include <gtest/gtest.h>

#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

CompletionWriter Writer(const std::string& json, std::vector<std::string> echoes) {
  auto request = protocol::CompletionRequest::Parse(*Json::Parse(json));
  MLC_ICHECK(request.ok());
  return CompletionWriter(*request, std::move(echoes), "m", testing::ByteTokenizer());
}

RequestEvent Event(int choice, const std::string& text, bool finished) {
  RequestEvent event;
  Delta& delta = event.deltas.emplace_back();
  delta.choice = choice;
  delta.text = text;
  for (unsigned char byte : text) delta.tokens.push_back({byte, TokenLogprobs{-0.5, {{'z', -2}}}});
  if (finished) delta.finish = FinishReason::kStop;
  event.finished = finished;
  event.usage.prompt_tokens = 3;
  event.usage.completion_tokens = 2;
  return event;
}

TEST(CompletionWriter, ChoicesOfPromptsAreNumberedThrough) {
  CompletionWriter writer = Writer(R"({"prompt": ["a", "b"], "n": 2})", {"", ""});
  auto chunks = writer.WriteChunks(1, Event(1, "x", false));
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(chunks[0].choices[0].index, 3);
  EXPECT_EQ(chunks[0].id.substr(0, 5), "cmpl-");
}

TEST(CompletionWriter, TheEchoComesOnce) {
  CompletionWriter writer = Writer(R"({"prompt": "ab", "echo": true})", {"ab"});
  EXPECT_EQ(writer.WriteChunks(0, Event(0, "x", false))[0].choices[0].text, "abx");
  EXPECT_EQ(writer.WriteChunks(0, Event(0, "y", false))[0].choices[0].text, "y");
}

TEST(CompletionWriter, UsageComesWhenTheLastPromptEnds) {
  CompletionWriter writer =
      Writer(R"({"prompt": ["a", "b"], "stream_options": {"include_usage": true}})", {"", ""});
  RequestEvent first = Event(0, "x", true), second = Event(0, "y", true);
  first.usage.ttft_s = 0.5, first.usage.end_to_end_s = 1;
  second.usage.ttft_s = 0.25, second.usage.end_to_end_s = 2;
  EXPECT_EQ(writer.WriteChunks(0, first).size(), 1u);
  EXPECT_FALSE(writer.finished());
  auto last = writer.WriteChunks(1, second);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_TRUE(writer.finished());
  EXPECT_TRUE(last[1].choices.empty());
  ASSERT_TRUE(last[1].usage->extra.has_value());
  EXPECT_EQ(last[1].usage->extra->prompt_tokens, 6);
  EXPECT_EQ(last[1].usage->extra->ttft_s, 0.25);  // of the first token of all
  EXPECT_EQ(last[1].usage->extra->end_to_end_latency_s, 2);
  EXPECT_EQ(last[1].usage->prompt_tokens, 6);
  EXPECT_EQ(last[1].usage->total_tokens, 10);
}

TEST(CompletionWriter, TimingsAddUpThePromptsSoFar) {
  CompletionWriter writer =
      Writer(R"({"prompt": ["a", "b"], "timings_per_token": true})", {"", ""});
  EXPECT_EQ(writer.WriteChunks(0, Event(0, "x", false))[0].timings->prompt_n, 3);
  EXPECT_EQ(writer.WriteChunks(0, Event(0, "y", true))[0].timings->predicted_n, 2);
  EXPECT_EQ(writer.WriteChunks(1, Event(0, "z", true))[0].timings->predicted_n, 4);
}

TEST(CompletionWriter, TheStopTextIsNamed) {
  RequestEvent event = Event(0, "x", true);
  event.deltas[0].stop = "END";
  CompletionWriter writer = Writer(R"({"prompt": "a"})", {""});
  EXPECT_EQ(writer.WriteChunks(0, event)[0].choices[0].stop_reason, "END");
  CompletionWriter whole = Writer(R"({"prompt": "a"})", {""});
  whole.Collect(0, event);
  EXPECT_EQ(whole.Whole().choices[0].stop_reason, "END");
}

// The prompt "<start>ab" whose text is "ab".
RequestEvent ScoredEvent(int choice, const std::string& text, bool finished) {
  RequestEvent event = Event(choice, text, finished);
  event.prompt = {{testing::kEnd + 1, std::nullopt},
                  {'a', TokenLogprobs{-1, {{'x', -0.25}}}},
                  {'b', TokenLogprobs{-2, {{'b', -2}}}}};
  return event;
}

void ExpectScored(const protocol::CompletionLogprobs& logprobs) {
  EXPECT_EQ(*logprobs.tokens, (std::vector<std::string>{"<start>", "a", "b", "c"}));
  EXPECT_EQ(*logprobs.token_logprobs, (std::vector<double>{0, -1, -2, -0.5}));
  EXPECT_TRUE(logprobs.top_logprobs->at(0).empty());
  EXPECT_EQ(logprobs.top_logprobs->at(1).at("x"), -0.25);
  EXPECT_EQ(*logprobs.text_offset, (std::vector<int64_t>{0, 0, 1, 2}));
}

constexpr const char* kScored = R"({"prompt": "ab", "echo": true, "logprobs": 1, "n": 2})";

TEST(CompletionWriter, AScoredPromptStandsBeforeEachChoice) {
  CompletionWriter whole = Writer(kScored, {"ab"}), streamed = Writer(kScored, {"ab"});
  RequestEvent first = ScoredEvent(0, "c", false), second = Event(1, "c", true);
  for (const RequestEvent& event : {first, second}) whole.Collect(0, event);
  for (size_t i = 0; i < 2; ++i) {
    ExpectScored(*whole.Whole().choices[i].logprobs);
    EXPECT_EQ(whole.Whole().choices[i].text, "abc");
    auto chunks = streamed.WriteChunks(0, i == 0 ? first : second);
    ASSERT_EQ(chunks.size(), 1u);
    ExpectScored(*chunks[0].choices[0].logprobs);
  }
  // Once only.
  auto more = streamed.WriteChunks(0, Event(0, "d", false));
  EXPECT_EQ(*more[0].choices[0].logprobs->tokens, std::vector<std::string>{"d"});
}

TEST(CompletionWriter, AnAnswerOfNoTokensHasThePromptsLogprobs) {
  CompletionWriter writer =
      Writer(R"({"prompt": "ab", "echo": true, "logprobs": 0, "max_tokens": 0})", {"ab"});
  auto chunks = writer.WriteChunks(0, ScoredEvent(0, "", true));
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(chunks[0].choices[0].text, "ab");
  EXPECT_EQ(chunks[0].choices[0].logprobs->tokens->size(), 3u);
}

TEST(CompletionWriter, LogprobsRunSideBySide) {
  CompletionWriter writer = Writer(R"({"prompt": "a", "logprobs": 1})", {""});
  writer.Collect(0, Event(0, "\xc3\xa9", false));
  writer.Collect(0, Event(0, "b", true));
  const protocol::CompletionLogprobs& logprobs = *writer.Whole().choices[0].logprobs;
  EXPECT_EQ(logprobs.tokens->size(), 3u);
  EXPECT_EQ(*logprobs.token_logprobs, (std::vector<double>{-0.5, -0.5, -0.5}));
  EXPECT_EQ(logprobs.top_logprobs->at(0).at("z"), -2);
  EXPECT_EQ(*logprobs.text_offset, (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(writer.Whole().choices[0].text,
            "\xc3\xa9"
            "b");
}

}  // namespace
}  // namespace mlc
