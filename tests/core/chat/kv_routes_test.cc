#include "chat/kv_routes.h"

#include <gtest/gtest.h>

#include <future>

#include "chat/chat_engine.h"
#include "chat/test_model.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

using testing::ChatBundle;
using testing::ChatInfo;
using testing::kByteVocab;
using testing::TempFolder;

class KVRoutesTest : public ::testing::Test {
 protected:
  void Start(const std::string& config) {
    engine_ = *ChatEngine::Create(config);
    auto model = std::make_unique<FakeModel>(ChatInfo(), FakeModel::HashOfHistory(kByteVocab));
    ASSERT_TRUE(engine_->LoadModel(std::move(model), ChatBundle(), "fake").ok());
  }
  // The one answer, or the refusal.
  Result<Json> Ask(const char* route, const Json& json) {
    std::promise<std::string> answer;
    Result<RequestId> id =
        engine_->Submit(route, json.Dump(), [&](ChatEventKind kind, const std::string& text) {
          EXPECT_NE(kind, ChatEventKind::kChunk);
          answer.set_value(text);
        });
    if (!id.ok()) return id.status();
    return Json::Parse(answer.get_future().get());
  }
  Json SaveJson() const {
    return Json::MakeObject()
        .Set("path", folder_.Path("chat.kv"))
        .Set("messages", *Json::Parse(R"([{"role": "user", "content": "Good morning"}])"));
  }
  Json LoadJson() const { return Json::MakeObject().Set("path", folder_.Path("chat.kv")); }

  TempFolder folder_;
  std::unique_ptr<ChatEngine> engine_;
};

TEST_F(KVRoutesTest, SaveAndLoad) {
  Start("{}");
  Result<Json> saved = Ask("kv.save", SaveJson());
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  ASSERT_NE(saved->Find("tokens"), nullptr) << saved->Dump();
  EXPECT_EQ(saved->Find("tokens")->as_int(), 12);
  EXPECT_GT(saved->Find("bytes")->as_int(), 12);
  Start("{}");
  EXPECT_EQ(Ask("kv.load", LoadJson())->Dump(), R"({"tokens":12})");
  Json chat = Json::MakeObject().Set("messages", *SaveJson().Find("messages")).Set("max_tokens", 3);
  Result<Json> answer = Ask("chat.completions", chat);
  const Json* details = answer->Find("usage")->Find("prompt_tokens_details");
  EXPECT_EQ(details->Find("cached_tokens")->as_int(), 11);
}

TEST_F(KVRoutesTest, TokensInPlaceOfMessages) {
  Start("{}");
  Json save = LoadJson().Set("prompt_tokens", *Json::Parse("[1, 2, 3, 4, 5]"));
  EXPECT_EQ(Ask("kv.save", save)->Find("tokens")->as_int(), 5);
  EXPECT_EQ(Ask("kv.load", LoadJson())->Find("tokens")->as_int(), 5);
}

TEST_F(KVRoutesTest, WhatIsWrongIsRefusedByName) {
  Start("{}");
  EXPECT_EQ(Ask("kv.save", LoadJson()).status().param(), "messages");
  Json both = SaveJson().Set("prompt_tokens", *Json::Parse("[1]"));
  EXPECT_EQ(Ask("kv.save", both).status().param(), "messages");
  Json bad_token = LoadJson().Set("prompt_tokens", *Json::Parse("[1, 99999]"));
  EXPECT_EQ(Ask("kv.save", bad_token).status().param(), "prompt_tokens[1]");
  Json zero = Json::MakeObject().Set("path", std::string("a\0b", 3));
  EXPECT_EQ(Ask("kv.load", zero).status().param(), "path");
  Result<Json> missing = Ask("kv.load", LoadJson());
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.status().param(), "path");
  folder_.Write("chat.kv", "garbage that is long enough to have a head");
  EXPECT_EQ(Ask("kv.load", LoadJson()).status().code(), StatusCode::kCorrupt);
}

TEST_F(KVRoutesTest, HeldSaysThePromptAndWhatTheCacheHas) {
  Start("{}");
  Json chat = Json::MakeObject().Set("messages", *SaveJson().Find("messages")).Set("max_tokens", 3);
  auto held = [&] { return *Ask("kv.held", Json::MakeObject().Set("chat", chat)); };
  auto number = [](const Json& answer) {
    return answer.Find("prompts")->as_array()[0].Find("held")->as_int();
  };
  Json before = held();
  EXPECT_EQ(number(before), 0);
  Json tokens = *before.Find("prompts")->as_array()[0].Find("tokens");
  ASSERT_EQ(tokens.as_array().size(), 12u);
  Json save = LoadJson().Set("prompt_tokens", tokens);
  EXPECT_EQ(Ask("kv.save", save)->Find("tokens")->as_int(), 12);
  EXPECT_EQ(number(held()), 12);
  chat.Set("messages", *Json::Parse(R"([{"role": "user", "content": "Good evening"}])"));
  EXPECT_EQ(number(held()), 5);
}

TEST_F(KVRoutesTest, HeldTakesSeveralPromptsAndLeavesOutWhatNoStateIsFor) {
  Start("{}");
  auto ask = [&](const char* completion) {
    return Ask("kv.held", Json::MakeObject().Set("completion", *Json::Parse(completion)));
  };
  Result<Json> two = ask(R"({"prompt": [[1, 2, 3], [4, 5]]})");
  EXPECT_EQ(two->Dump(), R"({"prompts":[{"tokens":[1,2,3],"held":0},{"tokens":[4,5],"held":0}]})");
  Result<Json> scored = ask(R"({"prompt": [1, 2, 3], "echo": true, "logprobs": 1})");
  EXPECT_EQ(scored->Dump(), R"({"prompts":[]})");
  EXPECT_EQ(Ask("kv.held", Json::MakeObject()).status().param(), "chat");
  EXPECT_EQ(ask(R"({"prompt": [99999]})").status().param(), "prompt");
  std::string far = "1";
  for (int i = 0; i < 40000; ++i) far += ",1";
  Result<Json> too_long = ask(("{\"prompt\": [[" + far + "]]}").c_str());
  EXPECT_EQ(too_long.status().reason().name(), "context_length_exceeded");
}

TEST_F(KVRoutesTest, WithoutPrefixCacheItSaysWhatToDo) {
  Start(R"({"prefix_cache_mode": "disable"})");
  for (const char* route : {"kv.save", "kv.load", "kv.held"}) {
    Result<Json> answer = Ask(route, SaveJson());
    EXPECT_EQ(answer.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(answer.status().param(), "prefix_cache_mode");
  }
}

TEST_F(KVRoutesTest, AnErrorAfterSubmitIsAnEvent) {
  Start("{}");
  Json save = SaveJson().Set("path", folder_.Path("no/such/folder"));
  Result<Json> answer = Ask("kv.save", save);
  ASSERT_TRUE(answer.ok());
  ASSERT_NE(answer->Find("error"), nullptr) << answer->Dump();
  EXPECT_EQ(answer->Find("error")->Find("param")->as_string(), "path");
}

}  // namespace
}  // namespace mlc
