// The route `embeddings` through the whole engine, on a fake model.
#include <gtest/gtest.h>

#include "chat/answer.h"
#include "chat/chat_engine.h"
#include "chat/test_model.h"

namespace mlc {
namespace {

using testing::Answer;
using testing::ChatBundle;
using testing::ChatInfo;
using testing::kByteVocab;

// The one event that an answer is.
const Json& Only(Answer* answer) {
  EXPECT_TRUE(answer->WaitForEnd());
  EXPECT_TRUE(answer->chunks().empty());
  return answer->last();
}

class EmbeddingRoute : public ::testing::Test {
 protected:
  void Load(const std::string& config, std::optional<Pooling> of_model = std::nullopt,
            int hidden_size = 4) {
    engine_ = std::move(ChatEngine::Create(config)).value();
    ModelInfo info = ChatInfo();
    info.hidden_size = hidden_size;
    ModelBundle bundle = ChatBundle();
    bundle.config.embedding_pooling = of_model;
    auto model = std::make_unique<FakeModel>(info, FakeModel::HashOfHistory(kByteVocab));
    ASSERT_TRUE(engine_->LoadModel(std::move(model), std::move(bundle), "fake").ok());
  }
  Json Ask(const std::string& json) {
    Answer answer;
    Result<RequestId> id = engine_->Submit("embeddings", json, answer.Callback());
    EXPECT_TRUE(id.ok()) << json << ": " << id.status().message();
    return id.ok() ? Only(&answer) : Json();
  }
  Json VectorOf(const std::string& json) { return At(Ask(json), 0); }
  static Json At(const Json& answer, size_t index) {
    return *answer.Find("data")->as_array()[index].Find("embedding");
  }
  Status Refused(const std::string& json) {
    Result<RequestId> id = engine_->Submit("embeddings", json, [](ChatEventKind, auto&) {
      ADD_FAILURE() << "an event of a refused request";
    });
    EXPECT_FALSE(id.ok()) << json;
    return id.status();
  }

  std::unique_ptr<ChatEngine> engine_;
};

TEST_F(EmbeddingRoute, TakesTextsAndTokens) {
  Load("{}");
  Json hi = VectorOf(R"({"input": "Hi"})");
  EXPECT_EQ(hi.as_array().size(), 4u);
  EXPECT_EQ(VectorOf(R"({"input": [72, 105]})"), hi);
  EXPECT_EQ(VectorOf(R"({"input": [[72, 105]]})"), hi);
  Json both = Ask(R"({"input": ["Ho", "Hi"]})");
  EXPECT_EQ(At(both, 1), hi);
  EXPECT_NE(At(both, 0), hi);
  EXPECT_EQ(both.Find("model")->as_string(), "fake");
  EXPECT_EQ(both.Find("usage")->Find("prompt_tokens")->as_int(), 4);
}

TEST_F(EmbeddingRoute, PoolsAsTheEngineSaysElseAsTheModel) {
  const char* hi = R"({"input": "Hi"})";
  Load("{}");
  Json mean = VectorOf(hi);
  Load("{}", Pooling::kLast);
  Json last = VectorOf(hi);
  EXPECT_NE(mean, last);
  Load(R"({"embedding_pooling": "mean"})", Pooling::kLast);
  EXPECT_EQ(VectorOf(hi), mean);
  Load(R"({"embedding_pooling": "last"})");
  EXPECT_EQ(VectorOf(hi), last);
}

TEST_F(EmbeddingRoute, IsTheOnlyOneOfAnEncoderThatRunsTheModel) {
  ModelInfo info = ChatInfo();
  info.is_encoder = true;
  engine_ = std::move(ChatEngine::Create("{}")).value();
  auto model = std::make_unique<FakeModel>(info, FakeModel::HashOfHistory(kByteVocab));
  ASSERT_TRUE(engine_->LoadModel(std::move(model), ChatBundle(), "fake").ok());
  EXPECT_EQ(Ask(R"({"input": ["a", "b"]})").Find("data")->as_array().size(), 2u);
  std::string too_long(65, 'a');  // than a step
  EXPECT_TRUE(Refused(R"({"input": ")" + too_long + R"("})").Is(Reason::kContextLengthExceeded));
  const char* chat = R"({"messages": [{"role": "user", "content": "Hi"}], "prompt": "Hi"})";
  for (const char* route : {"chat.completions", "completions", "render", "kv.save", "kv.load"}) {
    Result<RequestId> id = engine_->Submit(route, chat, [](ChatEventKind, auto&) {});
    ASSERT_FALSE(id.ok()) << route;
    EXPECT_EQ(id.status().code(), StatusCode::kUnsupported) << route;
    EXPECT_NE(id.status().message().find("embeddings"), std::string::npos) << route;
  }
}

TEST_F(EmbeddingRoute, RefusesWithThePlace) {
  Load("{}");
  std::string long_text(513, 'a');
  const std::pair<std::string, const char*> cases[] = {
      {R"({})", "input"},
      {R"({"input": ""})", "input"},
      {R"({"input": []})", "input"},
      {R"({"input": ["a", ""]})", "input[1]"},
      {R"({"input": ["a", 7]})", "input[1]"},
      {R"({"input": [[72], [99999]]})", "input[1]"},
      {R"({"input": [99999]})", "input"},
      {R"({"input": ["a", ")" + long_text + R"("]})", "input[1]"},
      {R"({"input": ")" + long_text + R"("})", "input"},
      {R"({"input": "a", "dimensions": 0})", "dimensions"},
      {R"({"input": "a", "dimensions": 5})", "dimensions"},
      {R"({"input": "a", "encoding_format": "hex"})", "encoding_format"},
  };
  for (const auto& [json, param] : cases) EXPECT_EQ(Refused(json).param(), param) << json;
}

TEST_F(EmbeddingRoute, SaysThatALibraryIsTooOld) {
  Load("{}", std::nullopt, /*hidden_size=*/0);
  Status status = Refused(R"({"input": "a"})");
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.param(), "model_lib");
}

std::string ManyTexts(int count) {
  std::string json = R"({"input": [)";
  for (int i = 0; i < count; ++i) json += (i > 0 ? ", \"" : "\"") + std::to_string(i * i) + "\"";
  return json + "]}";
}

// More than the queue holds.
TEST_F(EmbeddingRoute, AnswersALongList) {
  Load(R"({"max_queued_requests": 200})");
  Json answer = Ask(ManyTexts(1500));
  ASSERT_EQ(answer.Find("data")->as_array().size(), 1500u);
  EXPECT_EQ(At(answer, 1499), VectorOf(R"({"input": "2247001"})"));
}

TEST_F(EmbeddingRoute, AnAbortEndsALongList) {
  Load("{}");
  ASSERT_TRUE(engine_->Pause(true).ok());
  Answer answer;
  RequestId id = *engine_->Submit("embeddings", ManyTexts(1500), answer.Callback());
  ASSERT_TRUE(engine_->Abort(id).ok());
  EXPECT_EQ(Only(&answer).Find("error")->Find("code")->as_string(), "request_cancelled");
  ASSERT_TRUE(engine_->Pause(false).ok());
  EXPECT_EQ(Ask(R"({"input": "a"})").Find("data")->as_array().size(), 1u);
}

// Aborts and unloads while texts of the list come and go: each answer ends once.
TEST_F(EmbeddingRoute, EndsOnceWhateverHappens) {
  for (int round = 0; round < 40; ++round) {
    Load("{}");
    Answer first, second;
    RequestId id = *engine_->Submit("embeddings", ManyTexts(600), first.Callback());
    ASSERT_TRUE(engine_->Submit("embeddings", ManyTexts(600), second.Callback()).ok());
    std::this_thread::sleep_for(std::chrono::microseconds(round * 50));
    ASSERT_TRUE(engine_->Abort(id).ok());
    if (round % 2 == 0) {
      ASSERT_TRUE(engine_->Unload().ok());
    }
    Only(&first);
    Only(&second);
    if (round % 2 == 1) {
      EXPECT_EQ(second.last_kind(), ChatEventKind::kResult);
    }
  }
}

}  // namespace
}  // namespace mlc
