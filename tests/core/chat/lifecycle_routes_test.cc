#include "chat/lifecycle_routes.h"

#include <gtest/gtest.h>

#include <future>

#include "chat/chat_engine.h"
#include "chat/test_model.h"

namespace mlc {
namespace {

using testing::ChatBundle;
using testing::ChatInfo;
using testing::kByteVocab;

class LifecycleRoutesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    engine_ = *ChatEngine::Create(R"({"num_threads": 4, "max_num_sequence": 4})");
    auto model = std::make_unique<FakeModel>(ChatInfo(), FakeModel::HashOfHistory(kByteVocab));
    ASSERT_TRUE(engine_->LoadModel(std::move(model), ChatBundle(), "fake").ok());
  }
  // The one answer, or the refusal.
  Result<Json> Ask(const char* route, const char* json) {
    std::promise<std::string> answer;
    Result<RequestId> id =
        engine_->Submit(route, json, [&](ChatEventKind kind, const std::string& text) {
          EXPECT_EQ(kind, ChatEventKind::kResult);
          answer.set_value(text);
        });
    if (!id.ok()) return id.status();
    return Json::Parse(answer.get_future().get());
  }
  std::unique_ptr<ChatEngine> engine_;
};

TEST_F(LifecycleRoutesTest, AnswerWhileTheEngineIsPaused) {
  ASSERT_TRUE(engine_->Pause(true).ok());
  EXPECT_EQ(Ask("memory.trim", "{}")->Dump(), R"({"pages":0,"page_bytes":0,"weight_bytes":0})");
  int64_t pages = Ask("memory.trim", R"({"level": "all"})")->Find("pages")->as_int();
  EXPECT_GT(pages, 0);
  EXPECT_EQ(Ask("prewarm", "{}")->Dump(), R"({"weight_bytes":0})");
  EXPECT_EQ(Ask("thermal.set", R"({"state": "critical"})")->Dump(),
            R"({"num_threads":1,"max_num_sequence":1,"prefill_chunk_size":8})");
  EXPECT_EQ(Ask("thermal.set", R"({"state": "nominal"})")->Dump(),
            R"({"num_threads":4,"max_num_sequence":4,"prefill_chunk_size":64})");
  ASSERT_TRUE(engine_->Pause(false).ok());
}

TEST_F(LifecycleRoutesTest, WhatIsWrongIsRefusedByName) {
  EXPECT_EQ(Ask("memory.trim", R"({"level": "much"})").status().param(), "level");
  EXPECT_EQ(Ask("thermal.set", "{}").status().param(), "state");
  EXPECT_EQ(Ask("thermal.set", R"({"state": 3})").status().param(), "state");
  EXPECT_EQ(Ask("prewarm", R"({"step": "yes"})").status().param(), "step");
}

}  // namespace
}  // namespace mlc
