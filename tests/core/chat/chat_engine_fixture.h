// A chat engine over a fake model that answers from a script.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "chat/answer.h"
#include "chat/chat_engine.h"
#include "chat/test_model.h"

namespace mlc::testing {

class ChatEngineTest : public ::testing::Test {
 protected:
  ChatEngineTest() : engine_(*ChatEngine::Create(R"({"num_threads": 1})")) {}

  // A model that answers "Hi" with `reply`, at any temperature.
  void LoadReply(const std::string& reply) {
    LoadScript(
        [script = FakeModel::Reply(2, Bytes(reply), kEnd)](const auto& history, float* logits) {
          script(history, logits);
          for (int token = 0; token < kByteVocab; ++token) logits[token] *= 10;
        });
  }
  void LoadScript(FakeModel::Script script) {
    Status status = engine_->LoadModel(std::make_unique<FakeModel>(ChatInfo(), std::move(script)),
                                       ChatBundle(), "fake");
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // A model whose answers only end by max_tokens or by abort.
  void LoadEndless() {
    LoadScript([](const auto& history, float* logits) { logits['a' + history.size() % 26] = 20; });
  }
  RequestId Submit(const std::string& members, Answer* answer,
                   const char* route = "chat.completions") {
    Result<RequestId> id = engine_->Submit(route, HiJson(members), answer->Callback());
    EXPECT_TRUE(id.ok()) << members << ": " << id.status().message();
    return id.ok() ? *id : 0;
  }
  // Submits and waits for the end.
  void Ask(const std::string& members, Answer* answer) {
    Submit(members, answer);
    ASSERT_TRUE(answer->WaitForEnd());
  }
  Status Refusal(const std::string& json, const char* route = "chat.completions") {
    Result<RequestId> id = engine_->Submit(route, json, [](ChatEventKind, const std::string&) {
      ADD_FAILURE() << "an event of a refused request";
    });
    EXPECT_FALSE(id.ok()) << json;
    return id.ok() ? Status() : id.status();
  }

  std::unique_ptr<ChatEngine> engine_;
};

}  // namespace mlc::testing
