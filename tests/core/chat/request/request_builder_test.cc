#include "chat/request/request_builder.h"

#include <gtest/gtest.h>

#include "chat/request/generation_fields.h"
#include "chat/test_model.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::ChatBundle;
using testing::HiJson;
using testing::kByteVocab;
using testing::kEnd;
using testing::ParseRequest;

Request Build(const std::string& members, const ModelBundle& bundle = ChatBundle()) {
  Result<Request> request = BuildRequest(bundle, ParseRequest(HiJson(members)));
  EXPECT_TRUE(request.ok()) << members << ": " << request.status().message();
  return request.ok() ? *request : Request();
}

TEST(BuildRequest, TheDefaultsOfTheProtocol) {
  Request request = Build("");
  EXPECT_EQ(request.prompt, Bytes("Hi"));
  EXPECT_EQ(request.n, 1);
  EXPECT_EQ(request.max_tokens, kDefaultMaxTokens);
  EXPECT_EQ(request.stop_token_ids, std::vector<int32_t>{kEnd});
  EXPECT_TRUE(request.stop_strings.empty());
  EXPECT_FALSE(request.grammar.has_value());
  EXPECT_FALSE(request.ignore_eos);
  EXPECT_EQ(request.sampling.temperature, 1.0);
  EXPECT_EQ(request.sampling.top_p, 1.0);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.0);
  EXPECT_FALSE(request.sampling.logprobs);
}

TEST(BuildRequest, PriorityAndTimeLimit) {
  EXPECT_EQ(Build("").priority, 0);
  EXPECT_FALSE(Build("").timeout.has_value());
  Request request = Build(R"("priority": -3, "timeout_ms": 1500)");
  EXPECT_EQ(request.priority, -3);
  EXPECT_EQ(request.timeout, std::chrono::milliseconds(1500));
}

TEST(BuildRequest, EveryMemberArrives) {
  Request request = Build(
      R"("temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "frequency_penalty": 0.1,
         "presence_penalty": 0.2, "repetition_penalty": 1.1, "seed": 12, "n": 3, "max_tokens": 7,
         "logprobs": true, "top_logprobs": 4, "stop": ["a", "b"], "logit_bias": {"65": -1.5},
         "debug_config": {"ignore_eos": true})");
  const SamplingParams& sampling = request.sampling;
  EXPECT_EQ(sampling.temperature, 0.5);
  EXPECT_EQ(sampling.top_p, 0.9);
  EXPECT_EQ(sampling.top_k, 40);
  EXPECT_EQ(sampling.min_p, 0.05);
  EXPECT_EQ(sampling.frequency_penalty, 0.1);
  EXPECT_EQ(sampling.presence_penalty, 0.2);
  EXPECT_EQ(sampling.repetition_penalty, 1.1);
  EXPECT_EQ(sampling.seed, 12u);
  EXPECT_TRUE(sampling.logprobs);
  EXPECT_EQ(sampling.top_logprobs, 4);
  ASSERT_EQ(sampling.logit_bias.size(), 1u);
  EXPECT_EQ(sampling.logit_bias[0], (std::pair<int32_t, float>(65, -1.5f)));
  EXPECT_EQ(request.n, 3);
  EXPECT_EQ(request.max_tokens, 7);
  EXPECT_EQ(request.stop_strings, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(request.ignore_eos);
}

TEST(BuildRequest, TheModelsDefaultsFillWhatIsLeftOpen) {
  ModelBundle bundle = ChatBundle();
  bundle.sampling_defaults.temperature = 0.6;
  bundle.sampling_defaults.top_p = 0.95;
  bundle.sampling_defaults.repetition_penalty = 1.3;
  bundle.sampling_defaults.top_k = 40;
  bundle.sampling_defaults.min_p = 0.05;
  bundle.stop_strings = {"User:"};
  bundle.prompt_prefix = {257};
  Request request = Build(R"("top_p": 0.5, "stop": "x")", bundle);
  EXPECT_EQ(request.sampling.temperature, 0.6);
  EXPECT_EQ(request.sampling.top_p, 0.5);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.3);
  EXPECT_EQ(request.sampling.top_k, 40);
  EXPECT_EQ(request.sampling.min_p, 0.05);
  EXPECT_EQ(Build(R"("top_k": 0, "min_p": 0)", bundle).sampling.top_k, 0);
  EXPECT_EQ(request.stop_strings, (std::vector<std::string>{"User:", "x"}));
  EXPECT_EQ(request.prompt, (std::vector<int32_t>{257, 'H', 'i'}));
}

TEST(BuildRequest, DebugConfigPinsThePromptAndKeepsTheGrammarFromJumping) {
  EXPECT_FALSE(Build("").pin_prompt);
  EXPECT_TRUE(Build("").jump_forward);
  EXPECT_TRUE(Build(R"("debug_config": {})").jump_forward);
  EXPECT_TRUE(Build(R"("debug_config": {"pinned_system_prompt": true})").pin_prompt);
  EXPECT_FALSE(Build(R"("debug_config": {"grammar_execution_mode": "constraint"})").jump_forward);
  EXPECT_TRUE(Build(R"("debug_config": {"grammar_execution_mode": "jump_forward"})").jump_forward);
}

TEST(BuildRequest, TheNewerNameOfMaxTokensWins) {
  EXPECT_EQ(Build(R"("max_tokens": 7, "max_completion_tokens": 5)").max_tokens, 5);
  EXPECT_EQ(Build(R"("max_tokens": 9223372036854775807)").max_tokens, INT32_MAX);
}

TEST(BuildRequest, WithoutASeedTwoRequestsDiffer) {
  EXPECT_NE(Build("").sampling.seed, Build("").sampling.seed);
  EXPECT_EQ(Build(R"("seed": -1)").sampling.seed, ~uint64_t{0});
}

struct Fault {
  const char* members;
  StatusCode code;
  const char* param;
};

TEST(BuildRequest, WhatIsNotSupportedIsRefused) {
  const StatusCode unsupported = StatusCode::kUnsupported, wrong = StatusCode::kInvalidArgument;
  const Fault faults[] = {
      {R"("modalities": ["text", "audio"])", unsupported, "modalities"},
      {R"("logit_bias": {"258": 1})", wrong, "logit_bias.258"},
      {R"("logit_bias": {"9223372036854775807": 1})", wrong, "logit_bias.9223372036854775807"},
      {R"("top_logprobs": 3)", wrong, "top_logprobs"},
      {R"("response_format": {"type": "json_schema", "json_schema":
          {"name": "n", "schema": {"type": "thing"}}})",
       wrong, "response_format.json_schema.schema"},
  };
  ModelBundle bundle = ChatBundle();
  for (const Fault& fault : faults) {
    Result<Request> request = BuildRequest(bundle, ParseRequest(HiJson(fault.members)));
    ASSERT_FALSE(request.ok()) << fault.members;
    EXPECT_EQ(request.status().code(), fault.code) << request.status().message();
    EXPECT_EQ(request.status().param(), fault.param) << request.status().message();
  }
  EXPECT_EQ(Build(R"("tools": [{"type": "function", "function": {"name": "f"}}],
                     "tool_choice": "none")")
                .prompt,
            Bytes("Hi"));
}

TEST(BuildRequest, AnImageIsNamedByItsPlace) {
  auto request = ParseRequest(
      R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [
          {"type": "text", "text": "what is this?"},
          {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}]})");
  Result<Request> built = BuildRequest(ChatBundle(), request);
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(built.status().param(), "messages[1].content[1]");
}

TEST(RenderPrompt, AModelWithoutATemplateSaysSo) {
  ModelBundle bundle = ChatBundle();
  bundle.chat_template = nullptr;
  Result<std::string> prompt = RenderPrompt(bundle, ParseRequest(HiJson()));
  ASSERT_FALSE(prompt.ok());
  EXPECT_TRUE(prompt.status().Is(Reason::kNoChatTemplate));
}

TEST(RenderPrompt, TheTemplatesRefusalIsTheCallersError) {
  ModelBundle bundle = ChatBundle("{{ raise_exception('no system role here') }}");
  Result<std::string> prompt = RenderPrompt(bundle, ParseRequest(HiJson()));
  ASSERT_FALSE(prompt.ok());
  EXPECT_EQ(prompt.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(prompt.status().message().find("no system role here"), std::string::npos);
}

TEST(RenderPrompt, TemplateVariablesComeFromTheRequest) {
  ModelBundle bundle = ChatBundle("{{ enable_thinking }} {{ reasoning_effort }}");
  EXPECT_EQ(*RenderPrompt(bundle, ParseRequest(HiJson(
                                      R"("chat_template_kwargs": {"enable_thinking": false},
                                         "reasoning_effort": "low")"))),
            "False low");
}

}  // namespace
}  // namespace mlc
