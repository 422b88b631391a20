#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chat/protocol/protocol.gen.h"

namespace mlc::protocol {
namespace {

Json Text(const std::string& text) {
  Result<Json> json = Json::Parse(text);
  EXPECT_TRUE(json.ok()) << text << ": " << json.status().message();
  return json.ok() ? *json : Json();
}

// A request with one user message and the given members besides.
Json Request(const std::string& members) {
  return Text(R"({"messages": [{"role": "user", "content": "Hi"}])" +
              (members.empty() ? "" : ", " + members) + "}");
}

struct Fault {
  const char* json;
  const char* param;
  const char* reason;
  const char* message;
};

void ExpectFault(const Json& json, const Fault& fault) {
  Result<ChatCompletionRequest> parsed = ChatCompletionRequest::Parse(json);
  ASSERT_FALSE(parsed.ok()) << fault.json;
  EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument) << fault.json;
  EXPECT_EQ(parsed.status().param(), fault.param) << fault.json;
  EXPECT_EQ(parsed.status().reason().name(), fault.reason) << fault.json;
  EXPECT_EQ(parsed.status().message(), fault.message) << fault.json;
}

TEST(ProtocolParse, FaultsInOneParameter) {
  const Fault kFaults[] = {
      {R"("temperature": "hot")", "temperature", "invalid_type",
       "Invalid type for 'temperature': expected a number, but got a string instead."},
      {R"("temperature": 2.5)", "temperature", "decimal_above_max_value",
       "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 "
       "instead."},
      {R"("temperature": -1)", "temperature", "decimal_below_min_value",
       "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 "
       "instead."},
      {R"("top_p": -0.5)", "top_p", "decimal_below_min_value",
       "Invalid 'top_p': decimal below minimum value. Expected a value >= 0, but got -0.5 "
       "instead."},
      {R"("n": 129)", "n", "integer_above_max_value",
       "Invalid 'n': integer above maximum value. Expected a value <= 128, but got 129 instead."},
      {R"("n": 1.5)", "n", "invalid_type",
       "Invalid type for 'n': expected an integer, but got a decimal instead."},
      {R"("max_tokens": 0)", "max_tokens", "integer_below_min_value",
       "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 "
       "instead."},
      {R"("max_tokens": 1e300)", "max_tokens", "invalid_type",
       "Invalid type for 'max_tokens': expected an integer, but got a decimal instead."},
      {R"("stream": "yes")", "stream", "invalid_type",
       "Invalid type for 'stream': expected a boolean, but got a string instead."},
      {R"("user": 7)", "user", "invalid_type",
       "Invalid type for 'user': expected a string, but got an integer instead."},
      {R"("stop": 7)", "stop", "invalid_type",
       "Invalid type for 'stop': expected one of a string or an array, but got an integer "
       "instead."},
      {R"("stop": ["a", 7])", "stop[1]", "invalid_type",
       "Invalid type for 'stop[1]': expected a string, but got an integer instead."},
      {R"("stop": [""])", "stop[0]", "empty_string",
       "Invalid 'stop[0]': empty string. Expected a string with minimum length 1, but got an empty "
       "string instead."},
      {R"("stop": ["","","","","","","","","","","","","","","","",""])", "stop",
       "array_above_max_length",
       "Invalid 'stop': array too long. Expected an array with maximum length 16, but got an array "
       "with length 17 instead."},
      {R"("logit_bias": {"7": 101})", "logit_bias.7", "decimal_above_max_value",
       "Invalid 'logit_bias.7': decimal above maximum value. Expected a value <= 100, but got 101 "
       "instead."},
      {R"("logit_bias": {"x": 1})", "logit_bias.x", "invalid_value",
       "Invalid key in 'logit_bias': expected a non-negative integer, but got 'x' instead."},
      {R"("logit_bias": {"-1": 1})", "logit_bias.-1", "invalid_value",
       "Invalid key in 'logit_bias': expected a non-negative integer, but got '-1' instead."},
      {R"("logit_bias": [])", "logit_bias", "invalid_type",
       "Invalid type for 'logit_bias': expected an object, but got an array instead."},
      {R"("top_logprobs": 21)", "top_logprobs", "integer_above_max_value",
       "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but got 21 "
       "instead."},
      {R"("stream_options": true)", "stream_options", "invalid_type",
       "Invalid type for 'stream_options': expected an object, but got a boolean instead."},
      {R"("tool_choice": "maybe")", "tool_choice", "invalid_value",
       "Invalid value for 'tool_choice': 'maybe'. Supported values are: 'none', 'auto', and "
       "'required'."},
      {R"("tool_choice": {"type": "function"})", "tool_choice.function",
       "missing_required_parameter", "Missing required parameter: 'tool_choice.function'."},
      {R"("tools": [{"type": "web"}])", "tools[0].type", "invalid_value",
       "Invalid value for 'tools[0].type': 'web'. Supported values are: 'function'."},
      {R"("tools": [{"type": "function", "function": {"name": "f", "parameters": 1}}])",
       "tools[0].function.parameters", "invalid_type",
       "Invalid type for 'tools[0].function.parameters': expected an object, but got an integer "
       "instead."},
      {R"("response_format": {"type": "xml"})", "response_format.type", "invalid_value",
       "Invalid value for 'response_format.type': 'xml'. Supported values are: 'text', "
       "'json_object', 'json_schema', 'regex', 'grammar', and 'structural_tag'."},
      {R"("response_format": {"type": "json_schema", "json_schema": {}})",
       "response_format.json_schema.name", "missing_required_parameter",
       "Missing required parameter: 'response_format.json_schema.name'."},
      {R"("response_format": {"type": "json_object", "schema": 3})", "response_format.schema",
       "invalid_type",
       "Invalid type for 'response_format.schema': expected one of a string or an object, but got "
       "an integer instead."},
      {R"("debug_config": {"grammar_execution_mode": "fast"})",
       "debug_config.grammar_execution_mode", "invalid_value",
       "Invalid value for 'debug_config.grammar_execution_mode': 'fast'. Supported values are: "
       "'constraint' and 'jump_forward'."},
      {R"("chat_template_kwargs": "x")", "chat_template_kwargs", "invalid_type",
       "Invalid type for 'chat_template_kwargs': expected an object, but got a string instead."},
  };
  for (const Fault& fault : kFaults) ExpectFault(Request(fault.json), fault);
}

TEST(ProtocolParse, FaultsInMessages) {
  const Fault kFaults[] = {
      {R"([])", "", "invalid_type",
       "Invalid type for the request body: expected an object, but got an array instead."},
      {R"({})", "messages", "missing_required_parameter",
       "Missing required parameter: 'messages'."},
      {R"({"messages": null})", "messages", "invalid_type",
       "Invalid type for 'messages': expected an array, but got null instead."},
      {R"({"messages": []})", "messages", "empty_array",
       "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty "
       "array instead."},
      {R"({"messages": ["hi"]})", "messages[0]", "invalid_type",
       "Invalid type for 'messages[0]': expected an object, but got a string instead."},
      {R"({"messages": [{"content": "hi"}]})", "messages[0].role", "missing_required_parameter",
       "Missing required parameter: 'messages[0].role'."},
      {R"({"messages": [{"role": "king", "content": "hi"}]})", "messages[0].role", "invalid_value",
       "Invalid value for 'messages[0].role': 'king'. Supported values are: 'system', "
       "'developer', 'user', 'assistant', and 'tool'."},
      {R"({"messages": [{"role": "user"}]})", "messages[0].content", "missing_required_parameter",
       "Missing required parameter: 'messages[0].content'."},
      {R"({"messages": [{"role": "user", "content": null}]})", "messages[0].content",
       "missing_required_parameter", "Missing required parameter: 'messages[0].content'."},
      {R"({"messages": [{"role": "tool", "content": "4"}]})", "messages[0].tool_call_id",
       "missing_required_parameter", "Missing required parameter: 'messages[0].tool_call_id'."},
      {R"({"messages": [{"role": "user", "content": 5}]})", "messages[0].content", "invalid_type",
       "Invalid type for 'messages[0].content': expected one of a string or an array, but got an "
       "integer instead."},
      {R"({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"},
           {"role": "user", "content": [{"type": "video"}]}]})",
       "messages[2].content[0].type", "invalid_value",
       "Invalid value for 'messages[2].content[0].type': 'video'. Supported values are: 'text' and "
       "'image_url'."},
      {R"({"messages": [{"role": "user", "content": [{"text": "a"}]}]})",
       "messages[0].content[0].type", "missing_required_parameter",
       "Missing required parameter: 'messages[0].content[0].type'."},
      {R"({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]})",
       "messages[0].content[0].image_url.url", "missing_required_parameter",
       "Missing required parameter: 'messages[0].content[0].image_url.url'."},
      {R"({"messages": [{"role": "assistant", "tool_calls": [{"id": "1", "type": "function",
           "function": {"name": "f", "arguments": {}}}]}]})",
       "messages[0].tool_calls[0].function.arguments", "invalid_type",
       "Invalid type for 'messages[0].tool_calls[0].function.arguments': expected a string, but "
       "got an object instead."},
  };
  for (const Fault& fault : kFaults) ExpectFault(Text(fault.json), fault);
}

TEST(ProtocolParse, LongTextOfTheCallerIsCutWithinAMessage) {
  std::string word;
  for (int i = 0; i < 10000; ++i) word += "é";
  Result<ChatCompletionRequest> parsed =
      ChatCompletionRequest::Parse(Request(R"("tool_choice": "x)" + word + R"(")"));
  ASSERT_FALSE(parsed.ok());
  EXPECT_LT(parsed.status().message().size(), 300u);
  EXPECT_TRUE(Json::Parse(Json(parsed.status().message()).Dump()).ok());
  EXPECT_EQ(parsed.status().message().find("\xEF\xBF\xBD"), std::string::npos);
}

// Every value of a whole request in turn becomes each kind of JSON: an error names a place that
// begins at a known member, and what still parses is written and parsed again.
TEST(ProtocolParse, AnyValueInAnyPlace) {
  const std::string kWhole =
      R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant",)"
      R"("tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}],)"
      R"("n":1,"temperature":0.5,"stop":["x"],"logit_bias":{"5":1},"response_format":{"type":)"
      R"("json_schema","json_schema":{"name":"s","schema":{}}},"debug_config":{"ignore_eos":true},)"
      R"("tools":[{"type":"function","function":{"name":"f"}}],"stream_options":{}})";
  const char* kValues[] = {"null", "true", "-1", "1e308", R"("")", "[]", "{}", "[[{}]]"};
  int refused = 0;
  for (size_t at = kWhole.find(':'); at != std::string::npos; at = kWhole.find(':', at + 1)) {
    for (const char* value : kValues) {
      // The member's own value moves to a key that nobody knows.
      Result<Json> json =
          Json::Parse(kWhole.substr(0, at + 1) + value + R"(,"unknown":)" + kWhole.substr(at + 1));
      ASSERT_TRUE(json.ok()) << json.status().message();
      Result<ChatCompletionRequest> parsed = ChatCompletionRequest::Parse(*json);
      if (!parsed.ok()) {
        ++refused;
        EXPECT_NE(kWhole.find(parsed.status().param().substr(0, 4)), std::string::npos);
        continue;
      }
      Result<ChatCompletionRequest> again = ChatCompletionRequest::Parse(parsed->ToJson());
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ(again->ToJson().Dump(), parsed->ToJson().Dump());
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(ProtocolParse, AbsentAndNullMeanTheDefault) {
  for (const char* members :
       {"", R"("n": null, "stream": null, "temperature": null, "stop": null, "debug_config": {},
               "parallel_tool_calls": null, "response_format": null, "logit_bias": null)"}) {
    Result<ChatCompletionRequest> parsed = ChatCompletionRequest::Parse(Request(members));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(parsed->n, 1);
    EXPECT_FALSE(parsed->stream);
    EXPECT_TRUE(parsed->parallel_tool_calls);
    EXPECT_FALSE(parsed->temperature.has_value());
    EXPECT_FALSE(parsed->stop.has_value());
    EXPECT_FALSE(parsed->response_format.has_value());
    EXPECT_FALSE(parsed->logit_bias.has_value());
  }
}

TEST(ProtocolParse, BoundsThemselvesAreInRange) {
  for (const char* members :
       {R"("temperature": 0, "top_p": 1, "n": 128, "top_logprobs": 0)",
        R"("temperature": 2.0, "top_p": 1e-9, "n": 1, "top_logprobs": 20, "max_tokens": 1.0)",
        R"("frequency_penalty": -2, "logit_bias": {"0": -100, "50256": 100}, "seed": -5)"}) {
    Result<ChatCompletionRequest> parsed = ChatCompletionRequest::Parse(Request(members));
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  }
}

TEST(ProtocolParse, UnknownMembersAreIgnored) {
  Result<ChatCompletionRequest> parsed =
      ChatCompletionRequest::Parse(Request(R"("a_new_field": {"x": [1]}, "seed": 7)"));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->seed, 7);
}

TEST(ProtocolParse, ReadsEveryKindOfValue) {
  Result<ChatCompletionRequest> parsed = ChatCompletionRequest::Parse(Text(R"({
    "messages": [
      {"role": "user", "content": [{"type": "text", "text": "What?"},
        {"type": "image_url", "image_url": {"url": "data:x", "detail": "low"}},
        {"type": "image_url", "image_url": "data:y"}]},
      {"role": "assistant", "content": null}],
    "stop": ["a", "b"], "logit_bias": {"12": 3, "5": -1.5},
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "response_format": {"type": "json_object", "schema": "{}"},
    "debug_config": {"ignore_eos": true, "special_request": "query_engine_metrics"}})"));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const std::vector<ChatCompletionContentPart>* parts = parsed->messages[0].content->parts();
  ASSERT_NE(parts, nullptr);
  EXPECT_EQ((*parts)[0].text()->text, "What?");
  EXPECT_EQ((*parts)[0].image_url(), nullptr);
  EXPECT_EQ((*parts)[1].image_url()->image_url.image()->detail, ImageDetail::kLow);
  EXPECT_EQ(*(*parts)[2].image_url()->image_url.url(), "data:y");
  EXPECT_EQ(parsed->messages[1].role, ChatCompletionRole::kAssistant);
  EXPECT_FALSE(parsed->messages[1].content.has_value());
  EXPECT_EQ(*parsed->stop->texts(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(*parsed->logit_bias, (std::map<int64_t, double>{{5, -1.5}, {12, 3}}));
  EXPECT_EQ(parsed->tool_choice->named()->function.name, "f");
  EXPECT_EQ(parsed->response_format->json_object()->schema->text()->size(), 2u);
  EXPECT_TRUE(parsed->debug_config->ignore_eos);
  EXPECT_EQ(parsed->debug_config->special_request, SpecialRequest::kQueryEngineMetrics);
}

template <typename T>
void ExpectRoundTrip(const std::string& text) {
  Result<T> parsed = T::Parse(Text(text));
  ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status().message();
  EXPECT_EQ(parsed->ToJson().Dump(), Text(text).Dump());
}

TEST(ProtocolRoundTrip, Requests) {
  ExpectRoundTrip<ChatCompletionRequest>(R"({
    "messages": [{"role": "system", "content": "Be brief."},
      {"role": "user", "content": [{"type": "text", "text": "Hi"}], "name": "ann"},
      {"role": "assistant", "tool_calls": [{"id": "1", "type": "function",
        "function": {"name": "f", "arguments": "{\"a\": 1}"}}], "reasoning_content": "Hm."},
      {"role": "tool", "content": "4", "tool_call_id": "1"}],
    "model": "m", "stream": true, "stream_options": {"include_usage": true}, "n": 2,
    "temperature": 0.5, "logit_bias": {"5": -1.5}, "logprobs": true, "top_logprobs": 3,
    "stop": "x", "tools": [{"type": "function", "function": {"name": "f",
      "parameters": {"type": "object", "z": 1, "a": 2}, "strict": true}}],
    "tool_choice": "auto", "parallel_tool_calls": false,
    "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {}}},
    "reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": false},
    "metadata": {"k": "v"}, "audio": [1, null]})");
  ExpectRoundTrip<ResponseFormat>(R"({"type": "regex", "regex": "a+"})");
  ExpectRoundTrip<ResponseFormat>(R"({"type": "structural_tag",
    "tags": [{"begin": "<f>", "schema": {}, "end": "</f>"}], "triggers": ["<f"]})");
  ExpectRoundTrip<EngineConfig>(
      R"({"mode": "server", "max_num_sequence": 8, "sliding_window_size": -1})");
}

TEST(ProtocolRoundTrip, ResponsesKeepUnknownWords) {
  ExpectRoundTrip<ChatCompletion>(R"({"id": "c1", "object": "chat.completion", "created": 5,
    "model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": null,
      "refusal": null, "tool_calls": [{"id": "1", "type": "function",
        "function": {"name": "f", "arguments": "{}"}}]},
      "logprobs": {"content": [{"token": "a", "logprob": -0.5, "bytes": [97],
        "top_logprobs": [{"token": "a", "logprob": -0.5, "bytes": null}]}], "refusal": null},
      "finish_reason": "tired"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3,
      "prompt_tokens_details": {"cached_tokens": 1}, "extra": {"ttft_s": 0.5}}})");
}

TEST(ProtocolWrite, NullWhereTheKeyIsAlwaysThere) {
  ChatCompletionChunk chunk;
  chunk.id = "c1";
  chunk.created = 5;
  chunk.model = "m";
  chunk.choices.emplace_back();
  EXPECT_EQ(chunk.ToJson().Dump(),
            R"({"id":"c1","object":"chat.completion.chunk","created":5,"model":"m",)"
            R"("choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":null}]})");
  chunk.choices[0].finish_reason = FinishReason::kToolCalls;
  chunk.choices[0].delta.role = ChatCompletionRole::kAssistant;
  chunk.choices[0].delta.content = "é\n";
  EXPECT_EQ(chunk.ToJson().Find("choices")->as_array()[0].Dump(),
            R"({"index":0,"delta":{"role":"assistant","content":"é\n"},"logprobs":null,)"
            R"("finish_reason":"tool_calls"})");
  ErrorResponse error;
  error.error.message = "no";
  error.error.type = "invalid_request_error";
  EXPECT_EQ(error.ToJson().Dump(), R"({"error":{"message":"no","type":"invalid_request_error",)"
                                   R"("param":null,"code":null}})");
}

TEST(ProtocolParse, ErrorsNameTheFirstFaultOnly) {
  Result<ChatCompletionRequest> parsed =
      ChatCompletionRequest::Parse(Request(R"("seed": "x", "n": 0)"));
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().param(), "n");  // the schema's order, not the document's
}

TEST(EngineConfig, RangesAndMisspeltKeys) {
  Result<EngineConfig> parsed = EngineConfig::Parse(Text(R"({"gpu_memory_utilization": 1.5})"));
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().param(), "gpu_memory_utilization");
  parsed = EngineConfig::Parse(Text(R"({"max_num_sequences": 4})"));
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().message(),
            "Unrecognized parameter: 'max_num_sequences'. Did you mean 'max_num_sequence'?");
  EXPECT_TRUE(parsed.status().Is(Reason::kUnknownParameter));
  parsed = EngineConfig::Parse(Text(R"({"sliding_window_size": -1, "mode": "interactive"})"));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->mode, EngineMode::kInteractive);
}

}  // namespace
}  // namespace mlc::protocol
