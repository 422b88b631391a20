#include "chat/answer/chunk_writer.h"

#include <gtest/gtest.h>

#include "chat/test_model.h"

namespace mlc {
namespace {

using protocol::ChatCompletionChunk;
using testing::HiJson;
using testing::ParseRequest;

ChunkWriter Writer(const std::string& members = "") {
  return ChunkWriter(ParseRequest(HiJson(members)), "the-model", testing::ByteTokenizer());
}

Delta Text(int choice, const std::string& text, std::optional<FinishReason> finish = std::nullopt) {
  Delta delta;
  delta.choice = choice;
  delta.text = text;
  for (int32_t token : testing::Bytes(text)) delta.tokens.push_back({token, std::nullopt});
  delta.finish = finish;
  return delta;
}

RequestEvent Event(std::vector<Delta> deltas) {
  RequestEvent event;
  event.deltas = std::move(deltas);
  return event;
}

RequestEvent Last(std::vector<Delta> deltas) {
  RequestEvent event = Event(std::move(deltas));
  event.finished = true;
  event.usage.prompt_tokens = 5;
  event.usage.completion_tokens = 7;
  return event;
}

Json ToJson(const ChatCompletionChunk& chunk) { return chunk.ToJson(); }
const Json& FirstChoice(const Json& chunk) { return chunk.Find("choices")->as_array().at(0); }

TEST(WriteChunks, TheRoleComesFirstAndOnce) {
  ChunkWriter writer = Writer();
  Json first = ToJson(writer.WriteChunks(Event({Text(0, "a")})).at(0));
  Json second = ToJson(writer.WriteChunks(Event({Text(0, "b")})).at(0));
  EXPECT_EQ(FirstChoice(first).Find("delta")->Dump(), R"({"role":"assistant","content":"a"})");
  EXPECT_EQ(FirstChoice(second).Find("delta")->Dump(), R"({"content":"b"})");
  EXPECT_TRUE(FirstChoice(second).Find("finish_reason")->is_null());
  EXPECT_EQ(first.Find("object")->as_string(), "chat.completion.chunk");
  EXPECT_EQ(first.Find("model")->as_string(), "the-model");
  EXPECT_EQ(first.Find("id")->as_string(), second.Find("id")->as_string());
  EXPECT_EQ(first.Find("id")->as_string().rfind("chatcmpl-", 0), 0u);
}

TEST(WriteChunks, NothingWhileTextIsHeldBack) {
  ChunkWriter writer = Writer();
  Delta held = Text(0, "");
  held.tokens.push_back({0xc3, std::nullopt});
  EXPECT_TRUE(writer.WriteChunks(Event({held})).empty());
}

TEST(WriteChunks, AnEmptyAnswerHasARoleAndAnEnd) {
  ChunkWriter writer = Writer();
  std::vector<ChatCompletionChunk> chunks =
      writer.WriteChunks(Last({Text(0, "", FinishReason::kStop)}));
  ASSERT_EQ(chunks.size(), 1u);
  Json json = ToJson(chunks[0]);
  EXPECT_EQ(FirstChoice(json).Find("delta")->Dump(), R"({"role":"assistant","content":""})");
  EXPECT_EQ(FirstChoice(json).Find("finish_reason")->as_string(), "stop");
}

TEST(WriteChunks, ChoicesAreToldApart) {
  ChunkWriter writer = Writer(R"("n": 2)");
  std::vector<ChatCompletionChunk> chunks = writer.WriteChunks(
      Last({Text(1, "b", FinishReason::kLength), Text(0, "a", FinishReason::kStop)}));
  ASSERT_EQ(chunks.size(), 2u);
  Json first = ToJson(chunks[0]);
  EXPECT_EQ(FirstChoice(first).Find("index")->as_int(), 1);
  EXPECT_EQ(FirstChoice(first).Find("finish_reason")->as_string(), "length");
}

TEST(WriteChunks, UsageIsALastChunkWithoutChoicesWhenAsked) {
  RequestEvent last = Last({Text(0, "a", FinishReason::kStop)});
  EXPECT_EQ(Writer().WriteChunks(last).size(), 1u);
  ChunkWriter writer = Writer(R"("stream": true, "stream_options": {"include_usage": true})");
  std::vector<ChatCompletionChunk> chunks = writer.WriteChunks(last);
  ASSERT_EQ(chunks.size(), 2u);
  Json usage = ToJson(chunks[1]);
  EXPECT_TRUE(usage.Find("choices")->as_array().empty());
  EXPECT_EQ(usage.Find("usage")->Find("prompt_tokens")->as_int(), 5);
  EXPECT_EQ(usage.Find("usage")->Find("completion_tokens")->as_int(), 7);
  EXPECT_EQ(usage.Find("usage")->Find("total_tokens")->as_int(), 12);
}

TEST(WriteChunks, LogprobsCarryTokensAsTextAndBytes) {
  ChunkWriter writer = Writer(R"("logprobs": true, "top_logprobs": 1)");
  Delta delta = Text(0, "");
  delta.tokens.push_back({0xc3, TokenLogprobs{-0.5f, {{'A', -0.25f}}}});
  std::vector<ChatCompletionChunk> chunks = writer.WriteChunks(Event({delta}));
  ASSERT_EQ(chunks.size(), 1u) << "a token without text yet has logprobs";
  Json json = ToJson(chunks[0]);
  const Json& entry = FirstChoice(json).Find("logprobs")->Find("content")->as_array().at(0);
  EXPECT_EQ(entry.Find("token")->as_string(), "\xef\xbf\xbd");
  EXPECT_EQ(entry.Find("bytes")->Dump(), "[195]");
  EXPECT_EQ(entry.Find("logprob")->as_double(), -0.5);
  const Json& top = entry.Find("top_logprobs")->as_array().at(0);
  EXPECT_EQ(top.Find("token")->as_string(), "A");
  EXPECT_EQ(top.Find("logprob")->as_double(), -0.25);
}

TEST(Completion, IsWhatWasCollected) {
  ChunkWriter writer = Writer(R"("n": 2)");
  writer.Collect(Event({Text(0, "Hel"), Text(1, "x")}));
  writer.Collect(Event({Text(1, "y", FinishReason::kLength)}));
  writer.Collect(Last({Text(0, "lo", FinishReason::kStop)}));
  Json json = writer.Completion().ToJson();
  EXPECT_EQ(json.Find("object")->as_string(), "chat.completion");
  const Json::Array& choices = json.Find("choices")->as_array();
  ASSERT_EQ(choices.size(), 2u);
  EXPECT_EQ(choices[0].Find("message")->Find("content")->as_string(), "Hello");
  EXPECT_EQ(choices[0].Find("message")->Find("role")->as_string(), "assistant");
  EXPECT_EQ(choices[0].Find("finish_reason")->as_string(), "stop");
  EXPECT_EQ(choices[1].Find("message")->Find("content")->as_string(), "xy");
  EXPECT_EQ(choices[1].Find("finish_reason")->as_string(), "length");
  EXPECT_EQ(json.Find("usage")->Find("total_tokens")->as_int(), 12);
}

ChunkWriter WriterWithTools(const std::string& members = "", bool is_guided = false) {
  AnswerPlan plan;
  plan.tools = FindToolFormat("hermes");
  plan.reasoning = FindReasoningFormat("think");
  plan.offered = {{"now", Json(), false}};
  plan.is_guided = is_guided;
  return ChunkWriter(ParseRequest(HiJson(members)), "the-model", testing::ByteTokenizer(),
                     std::make_shared<const AnswerPlan>(plan));
}

const char kThoughtsAndCalls[] =
    "<think>Hm.</think>Let me see.\n<tool_call>{\"name\": \"now\", \"arguments\": {\"a\": 1}}"
    "</tool_call>\n<tool_call>{\"name\": \"now\"}</tool_call>";

TEST(WriteChunks, CallsHaveOpenAIsShape) {
  ChunkWriter writer = WriterWithTools();
  std::vector<std::string> deltas;
  std::string reason;
  for (const ChatCompletionChunk& chunk :
       writer.WriteChunks(Last({Text(0, kThoughtsAndCalls, FinishReason::kStop)}))) {
    Json json = ToJson(chunk);
    deltas.push_back(FirstChoice(json).Find("delta")->Dump());
    const Json& finish = *FirstChoice(json).Find("finish_reason");
    if (finish.is_string()) reason = finish.as_string();
  }
  ASSERT_EQ(deltas.size(), 7u);
  EXPECT_EQ(deltas[0], R"({"role":"assistant","reasoning_content":"Hm."})");
  EXPECT_EQ(deltas[1], R"({"content":"Let me see."})");
  Json first = *Json::Parse(deltas[2]);
  std::string id = first.Find("tool_calls")->as_array()[0].Find("id")->as_string();
  EXPECT_EQ(id.size(), std::string("call_").size() + 24);
  EXPECT_EQ(deltas[2], R"({"tool_calls":[{"index":0,"id":")" + id +
                           R"(","type":"function","function":{"name":"now","arguments":""}}]})");
  EXPECT_EQ(deltas[3], R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"a\": 1}"}}]})");
  EXPECT_NE(deltas[4].find(R"("index":1)"), std::string::npos);
  EXPECT_EQ(deltas[4].find(id), std::string::npos) << "each call has an id of its own";
  EXPECT_EQ(deltas[6], R"({"content":""})");
  EXPECT_EQ(reason, "tool_calls");
}

TEST(WriteChunks, ManyChunksSayWhatTheWholeSays) {
  ChunkWriter whole = WriterWithTools();
  whole.Collect(Last({Text(0, kThoughtsAndCalls, FinishReason::kStop)}));
  Json message = *whole.Completion().ToJson().Find("choices")->as_array()[0].Find("message");
  EXPECT_EQ(message.Find("content")->as_string(), "Let me see.");
  EXPECT_EQ(message.Find("reasoning_content")->as_string(), "Hm.");
  ChunkWriter writer = WriterWithTools();
  std::vector<std::pair<std::string, std::string>> calls;  // id, arguments
  const std::string text = kThoughtsAndCalls;
  for (size_t i = 0; i < text.size(); ++i) {
    std::optional<FinishReason> finish;
    if (i + 1 == text.size()) finish = FinishReason::kStop;
    for (const ChatCompletionChunk& chunk :
         writer.WriteChunks(Event({Text(0, text.substr(i, 1), finish)}))) {
      const auto& delta = chunk.choices[0].delta;
      if (!delta.tool_calls) continue;
      const protocol::ChoiceDeltaToolCall& call = delta.tool_calls->front();
      if (call.id) calls.emplace_back(*call.id, "");
      calls.back().second += *call.function->arguments;
    }
  }
  const Json::Array& expected = message.Find("tool_calls")->as_array();
  ASSERT_EQ(calls.size(), expected.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].first.size(), expected[i].Find("id")->as_string().size());
    EXPECT_EQ(calls[i].second, expected[i].Find("function")->Find("arguments")->as_string());
  }
}

TEST(Completion, CallsLeaveNoContentAndEndForTheirSake) {
  const std::string call = "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>";
  ChunkWriter writer = WriterWithTools(R"("n": 3)");
  writer.Collect(Last({Text(0, call, FinishReason::kStop), Text(1, "No.", FinishReason::kStop),
                       Text(2, "<tool_call>{\"na", FinishReason::kLength)}));
  Json json = writer.Completion().ToJson();
  const Json::Array& choices = json.Find("choices")->as_array();
  EXPECT_TRUE(choices[0].Find("message")->Find("content")->is_null());
  EXPECT_EQ(choices[0].Find("finish_reason")->as_string(), "tool_calls");
  EXPECT_EQ(choices[1].Find("message")->Find("content")->as_string(), "No.");
  EXPECT_EQ(choices[1].Find("finish_reason")->as_string(), "stop");
  EXPECT_EQ(choices[2].Find("message")->Find("content")->as_string(), "<tool_call>{\"na");
  EXPECT_EQ(choices[2].Find("finish_reason")->as_string(), "length");
}

// The delta of the last chunk of an answer whose text has come already.
std::string LastDeltaOf(ChunkWriter writer) {
  EXPECT_EQ(writer.WriteChunks(Event({Text(0, "a")})).size(), 1u);
  Json chunk = ToJson(writer.WriteChunks(Last({Text(0, "", FinishReason::kStop)})).at(0));
  EXPECT_EQ(FirstChoice(chunk).Find("finish_reason")->as_string(), "stop");
  return FirstChoice(chunk).Find("delta")->Dump();
}

TEST(WriteChunks, TheLastContentIsAnEmptyTextOrNothing) {
  auto writer = [](LastDelta last) {
    return ChunkWriter(ParseRequest(HiJson("")), "m", testing::ByteTokenizer(), nullptr, last);
  };
  EXPECT_EQ(LastDeltaOf(Writer()), R"({"content":""})") << "MLC-LLM's is the default";
  EXPECT_EQ(LastDeltaOf(writer(LastDelta::kEmptyContent)), R"({"content":""})");
  EXPECT_EQ(LastDeltaOf(writer(LastDelta::kNothing)), "{}");
}

TEST(WriteChunks, MeasurementsInAStreamThatAsksForItsUsage) {
  const std::string asks = R"("stream": true, "stream_options": {"include_usage": true})";
  for (bool wanted : {true, false}) {
    ChunkWriter writer = Writer(wanted ? asks : asks + R"(, "usage_extra": false)");
    auto chunks = writer.WriteChunks(Last({Text(0, "a", FinishReason::kStop)}));
    EXPECT_EQ(chunks.at(1).usage->extra.has_value(), wanted);
  }
}

TEST(ChunkWriter, MeasurementsOfAWholeAnswerOnRequestAlone) {
  for (const char* members : {"", R"("usage_extra": false)"}) {
    ChunkWriter writer = Writer(members);
    writer.Collect(Last({Text(0, "lo", FinishReason::kStop)}));
    EXPECT_FALSE(writer.Completion().usage->extra.has_value());
  }
  ChunkWriter writer = Writer(R"("usage_extra": true)");
  writer.Collect(Last({Text(0, "lo", FinishReason::kStop)}));
  Json extra = writer.Completion().usage->extra->ToJson();
  for (const char* name : {"prompt_tokens", "completion_tokens", "prefill_tokens", "decode_tokens",
                           "jump_forward_tokens", "prefill_tokens_per_s", "decode_tokens_per_s",
                           "end_to_end_latency_s", "ttft_s", "inter_token_latency_s"}) {
    EXPECT_NE(extra.Find(name), nullptr) << name;
  }
}

TEST(WriteChunks, ProgressOfThePromptHasNoChoices) {
  ChunkWriter writer = Writer();
  RequestEvent event;
  event.progress = {10, 4, 6, 0.5};
  std::vector<ChatCompletionChunk> chunks = writer.WriteChunks(event);
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_TRUE(chunks[0].choices.empty());
  EXPECT_EQ(chunks[0].prompt_progress->ToJson().Dump(),
            R"({"total":10,"cache":4,"processed":6,"time_ms":500.0})");
}

TEST(ChunkWriter, TimingsAreInEveryChunkAndInTheWholeOnRequest) {
  RequestEvent event = Last({Text(0, "hi", FinishReason::kStop)});
  event.usage.cached_tokens = 1;
  event.usage.prefill_s = 2;
  event.usage.decode_s = 3;
  ChunkWriter plain = Writer(), writer = Writer(R"("timings_per_token": true)");
  EXPECT_FALSE(plain.WriteChunks(event)[0].timings.has_value());
  protocol::Timings timings = *writer.WriteChunks(event)[0].timings;
  EXPECT_EQ(timings.cache_n, 1);
  EXPECT_EQ(timings.prompt_n, 4);
  EXPECT_EQ(timings.prompt_ms, 2000);
  EXPECT_EQ(timings.prompt_per_token_ms, 500);
  EXPECT_EQ(timings.prompt_per_second, 2);
  EXPECT_EQ(timings.predicted_n, 7);
  EXPECT_EQ(timings.predicted_per_token_ms, 500);
  EXPECT_EQ(timings.predicted_per_second, 2);
  plain.Collect(event), writer.Collect(event);
  EXPECT_FALSE(plain.Completion().timings.has_value());
  EXPECT_EQ(writer.Completion().timings->predicted_n, 7);
}

TEST(ChunkWriter, AnswersHaveIdsOfTheirOwn) {
  Delta a = Text(0, "a");
  ChunkWriter first = Writer(), second = Writer();  // as of two engines
  EXPECT_NE(first.WriteChunks(Event({a})).at(0).id, second.WriteChunks(Event({a})).at(0).id);
}

}  // namespace
}  // namespace mlc
