#include "chat/request/completion_builder.h"

#include <gtest/gtest.h>

#include "chat/test_model.h"

namespace mlc {
namespace {

using testing::Bytes;

Result<std::vector<PromptRequest>> Build(const std::string& json) {
  static const ModelBundle bundle = testing::ChatBundle();
  Result<protocol::CompletionRequest> request =
      protocol::CompletionRequest::Parse(*Json::Parse(json));
  if (!request.ok()) return std::move(request).status();
  return BuildCompletion(bundle, *request);
}

TEST(BuildCompletion, EveryFormOfAPrompt) {
  const std::pair<const char*, std::vector<std::vector<int32_t>>> cases[] = {
      {R"("Hi")", {{'H', 'i'}}},       {R"(["Hi", "yo"])", {{'H', 'i'}, {'y', 'o'}}},
      {"[1, 2, 3]", {{1, 2, 3}}},      {"[[1, 2], [3]]", {{1, 2}, {3}}},
      {R"(["a", [7]])", {{'a'}, {7}}},
  };
  for (const auto& [prompt, expected] : cases) {
    auto built = Build(R"({"prompt": )" + std::string(prompt) + "}");
    ASSERT_TRUE(built.ok()) << prompt << ": " << built.status().message();
    ASSERT_EQ(built->size(), expected.size()) << prompt;
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ((*built)[i].request.prompt, expected[i]) << prompt;
      EXPECT_EQ((*built)[i].request.max_tokens, 16) << prompt;
      EXPECT_EQ((*built)[i].echo, "") << prompt;
    }
  }
}

// `count` times the item, in a list.
std::string ListOf(const std::string& item, int count) {
  std::string list = "[" + item;
  for (int i = 1; i < count; ++i) list += "," + item;
  return list + "]";
}

TEST(BuildCompletion, ManyTokensAreOnePromptAndManyPromptsAreRefused) {
  auto tokens = Build(R"({"prompt": )" + ListOf("7", 3000) + "}");
  ASSERT_TRUE(tokens.ok()) << tokens.status().message();
  ASSERT_EQ(tokens->size(), 1u);
  EXPECT_EQ((*tokens)[0].request.prompt.size(), 3000u);
  EXPECT_TRUE(Build(R"({"prompt": )" + ListOf(R"("a")", 2048) + "}").ok());
  auto prompts = Build(R"({"prompt": )" + ListOf(R"("a")", 2049) + "}");
  ASSERT_FALSE(prompts.ok());
  EXPECT_TRUE(prompts.status().Is(Reason::kArrayAboveMaxLength)) << prompts.status().message();
}

TEST(BuildCompletion, TakesOverHowToGenerate) {
  auto built = Build(R"({"prompt": "Hi", "echo": true, "n": 3, "max_tokens": 5, "seed": 9,
                         "temperature": 0.5, "stop": ["x"], "frequency_penalty": 1.5,
                         "top_k": 7, "min_p": 0.25, "repetition_penalty": 1.1})");
  ASSERT_TRUE(built.ok());
  const Request& request = built->front().request;
  EXPECT_EQ(built->front().echo, "Hi");
  EXPECT_EQ(request.n, 3);
  EXPECT_EQ(request.max_tokens, 5);
  EXPECT_EQ(request.sampling.seed, 9u);
  EXPECT_DOUBLE_EQ(request.sampling.temperature, 0.5);
  EXPECT_DOUBLE_EQ(request.sampling.frequency_penalty, 1.5);
  EXPECT_EQ(request.sampling.top_k, 7);
  EXPECT_DOUBLE_EQ(request.sampling.min_p, 0.25);
  EXPECT_DOUBLE_EQ(request.sampling.repetition_penalty, 1.1);
  EXPECT_EQ(request.stop_strings, std::vector<std::string>{"x"});
}

TEST(BuildCompletion, LogprobsOfZeroAreTheChosenOnesAlone) {
  auto built = Build(R"({"prompt": "Hi", "logprobs": 0})");
  ASSERT_TRUE(built.ok());
  EXPECT_TRUE(built->front().request.sampling.logprobs);
  EXPECT_EQ(built->front().request.sampling.top_logprobs, 0);
}

TEST(BuildCompletion, AnEchoWithLogprobsScoresThePrompt) {
  auto built = Build(R"({"prompt": [1, 2], "echo": true, "logprobs": 1, "max_tokens": 0})");
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_TRUE(built->front().request.prompt_logprobs);
  EXPECT_EQ(built->front().request.max_tokens, 0);
  EXPECT_FALSE(Build(R"({"prompt": "a", "echo": true})")->front().request.prompt_logprobs);
  EXPECT_FALSE(Build(R"({"prompt": "a", "logprobs": 1})")->front().request.prompt_logprobs);
}

TEST(BuildCompletion, ATextThatCannotFitIsRefusedByItsLength) {
  ModelBundle bundle = testing::ChatBundle();
  bundle.length_limit.tokens = 10;
  std::string text(10'000'000, 'a');
  auto parsed = protocol::CompletionRequest::Parse(Json().Set("prompt", text));
  auto built = BuildCompletion(bundle, *parsed);
  EXPECT_TRUE(built.status().Is(Reason::kContextLengthExceeded));
  EXPECT_EQ(built.status().param(), "prompt");
  parsed->prompt = protocol::Prompt{std::string(10, 'a')};
  EXPECT_TRUE(BuildCompletion(bundle, *parsed).ok());
}

TEST(BuildCompletion, SpecialTokensInAPromptAreTokens) {
  EXPECT_EQ(Build(R"({"prompt": "a<end>"})")->front().request.prompt, (Prompt{'a', testing::kEnd}));
}

TEST(BuildCompletion, ASuffixStandsBehindTheModelsTokens) {
  const int32_t kEnd = testing::kEnd;
  ModelBundle bundle = testing::ChatBundle();
  auto build = [&](const char* json) {
    return BuildCompletion(bundle, *protocol::CompletionRequest::Parse(*Json::Parse(json)));
  };
  bundle.fill_markers = FillMarkers{"<end>", "|", "<end>"};
  auto built = build(R"({"prompt": ["a", ""], "suffix": "b"})");
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_EQ((*built)[0].request.prompt, (Prompt{kEnd, 'a', '|', 'b', kEnd}));
  EXPECT_EQ((*built)[1].request.prompt, (Prompt{kEnd, '|', 'b', kEnd}));
  EXPECT_EQ(build(R"({"prompt": "a", "suffix": ""})")->front().request.prompt, (Prompt{'a'}));
  bundle.fill_markers = FillMarkers{"<end>", "|", ""};  // the end comes first
  EXPECT_EQ(build(R"({"prompt": "a", "suffix": "b"})")->front().request.prompt,
            (Prompt{'|', 'b', kEnd, 'a'}));
  EXPECT_EQ(build(R"({"prompt": [1], "suffix": "b"})").status().param(), "suffix");
  EXPECT_EQ(build(R"({"prompt": "a", "suffix": "b", "echo": true})").status().param(), "echo");
}

TEST(BuildCompletion, WhatItRefuses) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"prompt": ""})", "prompt"},
      {R"({"prompt": ["a", ""]})", "prompt[1]"},
      {R"({"prompt": [1, "a"]})", "prompt[1]"},
      {R"({"prompt": ["a", 1]})", "prompt[1]"},
      {R"({"prompt": [999999]})", "prompt"},
      {R"({"prompt": [[1], [999999]]})", "prompt[1]"},
      {R"({"prompt": "a", "suffix": "b"})", "suffix"},
      {R"({"prompt": "a", "best_of": 3})", "best_of"},
      {R"({"prompt": "a", "logit_bias": {"999999": 1}})", "logit_bias.999999"},
  };
  for (const auto& [json, param] : cases) {
    auto built = Build(json);
    ASSERT_FALSE(built.ok()) << json;
    EXPECT_EQ(built.status().param(), param) << json << ": " << built.status().message();
  }
}

}  // namespace
}  // namespace mlc
