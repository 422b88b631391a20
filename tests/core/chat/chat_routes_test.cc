// What each route answers, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <stdexcept>
#include <thread>

#include "base/utf8.h"
#include "chat/chat_engine_fixture.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

using testing::Answer;
using testing::Bytes;
using testing::ChatBundle;
using testing::ChatEngineTest;
using testing::ChatInfo;
using testing::HiJson;
using testing::kByteVocab;
using testing::kEnd;

TEST_F(ChatEngineTest, WhatASchemaDoesNotEnforceIsSaidWithTheAnswer) {
  LoadReply("[]");
  auto format = [](bool is_strict) {
    return std::string(
               R"("response_format": {"type": "json_schema", "json_schema": {"name": "a",)") +
           R"("strict": )" + (is_strict ? "true" : "false") +
           R"(, "schema": {"type": "array", "items": {"pattern": "(?<!b)a"}}}})";
  };
  for (bool is_stream : {false, true}) {
    Answer answer;
    Ask(format(false) + (is_stream ? R"(, "stream": true)" : ""), &answer);
    const Json& first = is_stream ? answer.chunks().front() : answer.last();
    ASSERT_NE(first.Find("warnings"), nullptr) << first.Dump();
    const Json::Array& warnings = first.Find("warnings")->as_array();
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(*GetString(warnings[0], "path"), "/items/pattern");
    EXPECT_NE(GetString(warnings[0], "param")->find("response_format"), std::string::npos);
    EXPECT_FALSE(GetString(warnings[0], "message")->empty());
  }
  Status refusal = Refusal(HiJson(format(true)));
  EXPECT_EQ(refusal.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refusal.message().find("/items/pattern cannot be enforced"), std::string::npos)
      << refusal.message();
}

TEST_F(ChatEngineTest, AWholeAnswer) {
  LoadReply("hello");
  Answer answer;
  Ask("", &answer);
  EXPECT_EQ(answer.last_kind(), ChatEventKind::kResult);
  EXPECT_TRUE(answer.chunks().empty());
  EXPECT_EQ(answer.Content(), "hello");
  EXPECT_EQ(answer.Choice().Find("finish_reason")->as_string(), "stop");
  EXPECT_EQ(answer.last().Find("model")->as_string(), "fake");
  EXPECT_EQ(answer.last().Find("usage")->Find("total_tokens")->as_int(), 8);
  EXPECT_TRUE(protocol::ChatCompletion::Parse(answer.last()).ok());
}

TEST_F(ChatEngineTest, AStreamedAnswer) {
  LoadReply("hello");
  Answer answer;
  Ask(R"("stream": true, "stream_options": {"include_usage": true})", &answer);
  EXPECT_EQ(answer.last_kind(), ChatEventKind::kDone);
  EXPECT_EQ(answer.Streamed(), "hello");
  ASSERT_GE(answer.chunks().size(), 3u);
  for (const Json& chunk : answer.chunks()) {
    EXPECT_TRUE(protocol::ChatCompletionChunk::Parse(chunk).ok()) << chunk.Dump();
    EXPECT_EQ(*chunk.Find("id"), *answer.chunks()[0].Find("id"));
  }
  const Json& usage = answer.chunks().back();
  EXPECT_TRUE(usage.Find("choices")->as_array().empty());
  EXPECT_EQ(usage.Find("usage")->Find("completion_tokens")->as_int(), 6);
}

TEST_F(ChatEngineTest, CodePointsAreNeverCut) {
  const std::string reply = "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  LoadReply(reply);
  Answer answer;
  Ask(R"("stream": true)", &answer);
  EXPECT_EQ(answer.Streamed(), reply);
  for (const Json& chunk : answer.chunks()) EXPECT_TRUE(IsValidUtf8(chunk.Dump()));
}

constexpr char kNow[] =
    R"("tools": [{"type": "function", "function": {"name": "now", "parameters":
       {"type": "object", "properties": {"zone": {"enum": ["UTC", "CET"]}}, "required": ["zone"],
        "additionalProperties": false}}}])";

TEST_F(ChatEngineTest, AToolCallWholeAndStreamed) {
  LoadReply(
      "Sure.\n<tool_call>\n{\"name\": \"now\", \"arguments\": {\"zone\": \"UTC\"}}\n"
      "</tool_call>");
  Answer whole, streamed;
  Ask(kNow, &whole);
  EXPECT_EQ(whole.Content(), "Sure.");
  EXPECT_EQ(whole.Choice().Find("finish_reason")->as_string(), "tool_calls");
  const Json& call = whole.Choice().Find("message")->Find("tool_calls")->as_array().at(0);
  EXPECT_EQ(call.Find("function")->Dump(), R"({"name":"now","arguments":"{\"zone\": \"UTC\"}"})");
  Ask(std::string(kNow) + R"(, "stream": true)", &streamed);
  EXPECT_EQ(streamed.Streamed(), "Sure.");
  std::string arguments;
  for (const Json& chunk : streamed.chunks()) {
    const Json* calls = chunk.Find("choices")->as_array()[0].Find("delta")->Find("tool_calls");
    if (calls == nullptr) continue;
    arguments += calls->as_array()[0].Find("function")->Find("arguments")->as_string();
  }
  EXPECT_EQ(arguments, R"({"zone": "UTC"})");
}

TEST_F(ChatEngineTest, ARequiredCallIsWhatTheGrammarSays) {
  LoadScript(FakeModel::HashOfHistory(kByteVocab));
  for (const char* seed : {"1", "2", "3"}) {
    Answer answer;
    Ask(std::string(kNow) +
            R"(, "tool_choice": "required", "parallel_tool_calls": false, "seed": )" + seed,
        &answer);
    const Json& message = *answer.Choice().Find("message");
    EXPECT_TRUE(message.Find("content")->is_null()) << message.Dump();
    const Json& function = *message.Find("tool_calls")->as_array().at(0).Find("function");
    Json arguments = *Json::Parse(function.Find("arguments")->as_string());
    const std::string& zone = arguments.Find("zone")->as_string();
    EXPECT_TRUE(zone == "UTC" || zone == "CET") << zone;
  }
}

TEST_F(ChatEngineTest, LogprobsOfEveryToken) {
  LoadScript(FakeModel::Reply(2, Bytes("ab"), kEnd));
  Answer answer;
  Ask(R"("logprobs": true, "top_logprobs": 2, "temperature": 0)", &answer);
  const Json::Array& content = answer.Choice().Find("logprobs")->Find("content")->as_array();
  ASSERT_EQ(content.size(), 2u);
  EXPECT_EQ(content[0].Find("token")->as_string(), "a");
  EXPECT_EQ(content[0].Find("top_logprobs")->as_array().size(), 2u);
  EXPECT_NEAR(content[0].Find("logprob")->as_double(), -std::log(1 + 257 * std::exp(-10.0)), 1e-5);
}

TEST_F(ChatEngineTest, TwentyLikeliestTokensInOrder) {
  LoadScript(FakeModel::HashOfHistory(kByteVocab));
  Answer answer;
  Ask(R"("logprobs": true, "top_logprobs": 20, "max_tokens": 4, "seed": 1,
         "debug_config": {"ignore_eos": true})",
      &answer);
  for (const Json& token : answer.Choice().Find("logprobs")->Find("content")->as_array()) {
    const Json::Array& top = token.Find("top_logprobs")->as_array();
    ASSERT_EQ(top.size(), 20u);
    double total = 0;
    for (size_t i = 0; i < top.size(); ++i) {
      double logprob = top[i].Find("logprob")->as_double();
      if (i > 0) {
        EXPECT_LE(logprob, top[i - 1].Find("logprob")->as_double());
      }
      total += std::exp(logprob);
    }
    EXPECT_GT(total, 20.0 / kByteVocab);
    EXPECT_LT(total, 1);
  }
}

TEST_F(ChatEngineTest, StopStringsAndLimits) {
  LoadReply("one two three");
  Answer stopped, cut;
  Ask(R"("stop": [" three", "wo"])", &stopped);
  EXPECT_EQ(stopped.Content(), "one t");
  EXPECT_EQ(stopped.Choice().Find("finish_reason")->as_string(), "stop");
  EXPECT_EQ(stopped.Choice().Find("stop_reason")->as_string(), "wo");
  Ask(R"("max_tokens": 3)", &cut);
  EXPECT_EQ(cut.Choice().Find("stop_reason"), nullptr);
  EXPECT_EQ(cut.Content(), "one");
  EXPECT_EQ(cut.Choice().Find("finish_reason")->as_string(), "length");
}

// The model says anything, at a high temperature: the grammar alone makes it JSON.
TEST_F(ChatEngineTest, JsonModeIsJson) {
  LoadScript([](const std::vector<int32_t>& history, float* logits) {
    FakeModel::HashOfHistory(kByteVocab)(history, logits);
    for (char c : {'"', '}', ']', ':'}) logits[static_cast<int>(c)] = 5;  // so that it ends
    logits['\\'] = -50;  // half of a surrogate pair may be escaped, which JSON leaves open
  });
  int complete = 0;
  for (int seed = 0; seed < 20; ++seed) {
    Answer answer;
    Ask(R"("temperature": 1.5, "response_format": {"type": "json_object"}, "max_tokens": 400,
           "seed": )" +
            std::to_string(seed),
        &answer);
    ASSERT_EQ(answer.last_kind(), ChatEventKind::kResult) << answer.last().Dump();
    if (answer.Choice().Find("finish_reason")->as_string() == "length") continue;
    ++complete;
    Result<Json> json = Json::Parse(answer.Content());
    ASSERT_TRUE(json.ok()) << json.status().message() << ": " << answer.Content();
    EXPECT_TRUE(json->is_object());
  }
  EXPECT_GE(complete, 15);
}

TEST_F(ChatEngineTest, ASchemaIsFollowed) {
  LoadScript([](const auto&, float* logits) { logits['7'] = 3; });
  Answer answer;
  Ask(R"("max_tokens": 100, "temperature": 1, "seed": 4, "response_format": {"type": "json_schema",
         "json_schema": {"name": "n", "schema": {"type": "object", "properties":
         {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": false}}})",
      &answer);
  Result<Json> json = Json::Parse(answer.Content());
  ASSERT_TRUE(json.ok()) << answer.Content();
  EXPECT_TRUE(json->Find("ok")->is_bool());
}

TEST_F(ChatEngineTest, WrongRequestsAreRefusedWithoutAnEvent) {
  LoadReply("hello");
  EXPECT_EQ(Refusal("{").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Refusal("[]").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Refusal("{}").param(), "messages");
  EXPECT_EQ(Refusal(HiJson(R"("temperature": 3)")).param(), "temperature");
  EXPECT_EQ(Refusal(HiJson(R"("n": 0)")).param(), "n");
  EXPECT_EQ(Refusal(HiJson(), "images").param(), "route");
  EXPECT_EQ(Refusal(HiJson(), "").code(), StatusCode::kNotFound);
  for (const char* route : protocol::kRoutes) {  // each is there, and refuses a number
    EXPECT_NE(Refusal("3", route).param(), "route") << route;
  }
  std::string long_text(600, 'x');
  Status too_long = Refusal(R"({"messages": [{"role": "user", "content": ")" + long_text + "\"}]}");
  EXPECT_TRUE(too_long.Is(Reason::kContextLengthExceeded));
}

TEST_F(ChatEngineTest, TheSmallRoutes) {
  LoadReply("hello");
  auto ask = [this](const char* route, const std::string& json) {
    Answer answer;
    Result<RequestId> id = engine_->Submit(route, json, answer.Callback());
    EXPECT_TRUE(id.ok()) << route << ": " << id.status().message();
    EXPECT_TRUE(answer.WaitForEnd());
    EXPECT_EQ(answer.last_kind(), ChatEventKind::kResult);
    return answer.last().Dump();
  };
  EXPECT_EQ(ask("tokenize", R"({"text": "ab<end>"})"), R"({"tokens":[97,98,256],"count":3})");
  EXPECT_EQ(ask("detokenize", R"({"tokens": [97, 256, 98]})"), R"({"text":"ab"})");
  EXPECT_EQ(ask("detokenize", R"({"tokens": [97, 256], "skip_special_tokens": false})"),
            R"({"text":"a<end>"})");
  EXPECT_EQ(ask("render", HiJson()), R"({"prompt":"Hi"})");
  EXPECT_EQ(ask("input_tokens", HiJson()), R"({"input_tokens":2})");
  for (const char* bad : {R"({"tokens": "x"})", "{}"}) {
    EXPECT_EQ(Refusal(bad, "detokenize").param(), "tokens") << bad;
  }
  for (const char* bad : {R"({"tokens": [-1]})", R"({"tokens": [258]})", R"({"tokens": [1.5]})"}) {
    EXPECT_EQ(Refusal(bad, "detokenize").param(), "tokens[0]") << bad;
  }
  EXPECT_EQ(Refusal("{}", "tokenize").param(), "text");
}

TEST_F(ChatEngineTest, PriorityAndTimeLimitReachTheEngine) {
  LoadEndless();
  ASSERT_TRUE(engine_->Pause(true).ok());  // a fast machine answers within a millisecond
  Answer late;
  Ask(R"("timeout_ms": 1, "max_tokens": 400)", &late);
  ASSERT_EQ(late.last_kind(), ChatEventKind::kError);
  EXPECT_EQ(late.Code(), "deadline_exceeded");
  Answer first, second;
  std::vector<int> order;
  auto noting = [&order](int number, ChatCallback callback) {
    return [&order, number, callback](ChatEventKind kind, const std::string& json) {
      if (kind == ChatEventKind::kResult) order.push_back(number);
      callback(kind, json);
    };
  };
  auto submit = [&](int number, const char* members, Answer* answer) {
    ASSERT_TRUE(
        engine_->Submit("chat.completions", HiJson(members), noting(number, answer->Callback()))
            .ok());
  };
  submit(1, R"("max_tokens": 20, "n": 4)", &first);
  submit(2, R"("max_tokens": 20, "n": 4, "priority": 3)", &second);
  ASSERT_TRUE(engine_->Pause(false).ok());
  ASSERT_TRUE(first.WaitForEnd());
  ASSERT_TRUE(second.WaitForEnd());
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
}

TEST(ChatEngineTrace, IsChromesFormat) {
  auto engine = *ChatEngine::Create(R"({"enable_tracing": true, "num_threads": 1})");
  Status status = engine->LoadModel(
      std::make_unique<FakeModel>(ChatInfo(), FakeModel::HashOfHistory(kByteVocab)), ChatBundle(),
      "fake");
  ASSERT_TRUE(status.ok());
  Answer answer, trace;
  ASSERT_TRUE(engine
                  ->Submit("chat.completions", HiJson(R"("max_tokens": 3, "temperature": 0)"),
                           answer.Callback())
                  .ok());
  ASSERT_TRUE(answer.WaitForEnd());
  ASSERT_TRUE(engine->Submit("trace", "{}", trace.Callback()).ok());
  ASSERT_TRUE(trace.WaitForEnd());
  ASSERT_EQ(trace.last_kind(), ChatEventKind::kResult);
  std::vector<std::string> names;
  for (const Json& event : trace.last().Find("traceEvents")->as_array()) {
    if (event.Find("ph")->as_string() == "M") continue;
    names.push_back(event.Find("name")->as_string());
  }
  EXPECT_EQ(names.front(), "queued");
  EXPECT_EQ(std::count(names.begin(), names.end(), "prefill"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "decode"), 2);
  EXPECT_EQ(std::count(names.begin(), names.end(), "step"), 3);
  EXPECT_EQ(names.back(), "finish");
}

TEST_F(ChatEngineTest, NoTraceUnlessItIsEnabled) {
  LoadReply("hello");
  EXPECT_EQ(Refusal("{}", "trace").param(), "enable_tracing");
}

TEST(ChatEngineCreate, ChecksItsConfig) {
  EXPECT_TRUE(ChatEngine::Create("{}").ok());
  for (const char* json : {"", "[]", "null", R"({"max_num_sequence": 0})", R"({"mode": "fast"})",
                           R"({"num_threads": 2000})"}) {
    Result<std::unique_ptr<ChatEngine>> engine = ChatEngine::Create(json);
    ASSERT_FALSE(engine.ok()) << json;
    EXPECT_EQ(engine.status().code(), StatusCode::kInvalidArgument) << json;
  }
}

TEST(ChatEngineCreate, ASettingThatCannotBeIsSaidAtLoad) {
  auto engine = *ChatEngine::Create(R"({"speculative_mode": "eagle"})");
  Status status = engine->LoadModel(
      std::make_unique<FakeModel>(ChatInfo(), FakeModel::HashOfHistory(kByteVocab)), ChatBundle(),
      "fake");
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.param(), "speculative_mode");
}

TEST_F(ChatEngineTest, ScoresAPrompt) {
  LoadScript([](const auto& history, float* logits) {
    logits[static_cast<size_t>(history.back()) + 1] = 5;  // "b" follows "a"
  });
  Answer answer;
  ASSERT_TRUE(engine_
                  ->Submit("completions",
                           R"({"prompt": "abcx", "echo": true, "logprobs": 1, "max_tokens": 0})",
                           answer.Callback())
                  .ok());
  ASSERT_TRUE(answer.WaitForEnd());
  ASSERT_EQ(answer.last_kind(), ChatEventKind::kResult);
  const Json& choice = answer.Choice();
  EXPECT_EQ(choice.Find("text")->as_string(), "abcx");
  EXPECT_EQ(choice.Find("finish_reason")->as_string(), "length");
  const Json::Array& scores = choice.Find("logprobs")->Find("token_logprobs")->as_array();
  const Json::Array& tops = choice.Find("logprobs")->Find("top_logprobs")->as_array();
  ASSERT_EQ(scores.size(), 4u);
  double likely = 5 - std::log(std::exp(5.0) + kByteVocab - 1);
  for (size_t i : {1, 2}) EXPECT_NEAR(scores[i].as_double(), likely, 1e-5);
  EXPECT_NEAR(scores[3].as_double(), likely - 5, 1e-5);
  EXPECT_NEAR(tops[3].Find("d")->as_double(), likely, 1e-5);
}

}  // namespace
}  // namespace mlc
