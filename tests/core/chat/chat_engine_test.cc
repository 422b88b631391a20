#include "chat/chat_engine.h"

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

TEST_F(ChatEngineTest, WithoutAModelEverythingSaysSo) {
  EXPECT_TRUE(Refusal(HiJson()).Is(Reason::kModelNotLoaded));
  EXPECT_TRUE(Refusal(R"({"text": "x"})", "tokenize").Is(Reason::kModelNotLoaded));
  EXPECT_TRUE(engine_->MetricsJson().status().Is(Reason::kModelNotLoaded));
  EXPECT_TRUE(engine_->Pause(true).Is(Reason::kModelNotLoaded));
  EXPECT_TRUE(engine_->Reset().Is(Reason::kModelNotLoaded));
  EXPECT_TRUE(engine_->Abort(1).ok());
  EXPECT_TRUE(engine_->Unload().ok());
}

TEST_F(ChatEngineTest, AbortInMidStream) {
  LoadEndless();
  Answer answer;
  RequestId id = Submit(R"("stream": true, "n": 3)", &answer);
  ASSERT_TRUE(answer.WaitForChunk());
  EXPECT_TRUE(engine_->Abort(id).ok());
  ASSERT_TRUE(answer.WaitForEnd());
  // It may have come to its end first.
  if (answer.last_kind() == ChatEventKind::kError) {
    EXPECT_EQ(answer.Code(), "request_cancelled");
  }
  Answer next;
  Ask(R"("max_tokens": 2)", &next);
  EXPECT_EQ(next.Content(), "cd");
}

TEST_F(ChatEngineTest, AbortOfWhatWaitsWhilePaused) {
  LoadEndless();
  ASSERT_TRUE(engine_->Pause(true).ok());
  Answer answer;
  RequestId id = Submit(R"("stream": true)", &answer);
  ASSERT_TRUE(engine_->Abort(id).ok());
  ASSERT_TRUE(answer.WaitForEnd());
  EXPECT_EQ(answer.last_kind(), ChatEventKind::kError);
  EXPECT_EQ(answer.Code(), "request_cancelled");
  EXPECT_TRUE(engine_->Pause(false).ok());
}

TEST_F(ChatEngineTest, UnloadInMidStreamEndsEveryRequest) {
  LoadEndless();
  Answer answers[6];
  ASSERT_TRUE(engine_->Pause(true).ok());
  for (Answer& answer : answers) Submit(R"("stream": true)", &answer);
  ASSERT_TRUE(engine_->Unload().ok());
  for (Answer& answer : answers) {
    ASSERT_TRUE(answer.WaitForEnd());  // before Unload returned
    EXPECT_EQ(answer.Code(), "model_unloaded");
  }
  EXPECT_TRUE(Refusal(HiJson()).Is(Reason::kModelNotLoaded));
  LoadReply("again");
  Answer answer;
  Ask("", &answer);
  EXPECT_EQ(answer.Content(), "again");
}

TEST_F(ChatEngineTest, LoadingReplacesAModelInMidStream) {
  LoadEndless();
  Answer running;
  Submit(R"("stream": true)", &running);
  LoadReply("new");
  ASSERT_TRUE(running.WaitForEnd());
  Answer answer;
  Ask("", &answer);
  EXPECT_EQ(answer.Content(), "new");
}

TEST_F(ChatEngineTest, ResetAbortsAndClearsTheMetrics) {
  LoadEndless();
  ASSERT_TRUE(engine_->Pause(true).ok());
  Answer answer;
  Submit("", &answer);
  ASSERT_TRUE(engine_->Reset().ok());
  EXPECT_EQ(Json::Parse(*engine_->MetricsJson())->Find("num_waiting_sequences")->as_int(), 0);
  ASSERT_TRUE(answer.WaitForEnd());
  EXPECT_EQ(answer.Code(), "request_cancelled");
  ASSERT_TRUE(engine_->Pause(false).ok());
  Answer next;
  Ask(R"("max_tokens": 2)", &next);
  Json metrics = *Json::Parse(*engine_->MetricsJson());
  EXPECT_EQ(metrics.Find("num_failed_requests")->as_int(), 0);
  EXPECT_EQ(metrics.Find("num_finished_requests")->as_int(), 1);
}

TEST_F(ChatEngineTest, UnloadingWithinACallbackIsRefused) {
  LoadReply("hello");
  Answer answer;
  ChatCallback sink = answer.Callback();
  Status unload, load;
  ASSERT_TRUE(engine_
                  ->Submit("chat.completions", HiJson(),
                           [&](ChatEventKind kind, const std::string& json) {
                             unload = engine_->Unload();
                             load = engine_->Load(R"({"model": "m", "model_lib": "l"})", nullptr);
                             sink(kind, json);
                           })
                  .ok());
  ASSERT_TRUE(answer.WaitForEnd());
  EXPECT_EQ(unload.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(load.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(answer.Content(), "hello");
}

TEST_F(ChatEngineTest, AnotherEngineMayBeDestroyedWithinACallback) {
  LoadEndless();
  ChatEngine* other = engine_.get();
  ASSERT_TRUE(other->Pause(true).ok());
  Answer ended, answer;
  ChatCallback sink = ended.Callback();
  Status after;
  ASSERT_TRUE(other
                  ->Submit("chat.completions", HiJson(),
                           [&](ChatEventKind kind, const std::string& json) {
                             after = other->MetricsJson().status();
                             sink(kind, json);
                           })
                  .ok());
  auto destroyed = std::move(engine_);
  engine_ = *ChatEngine::Create(R"({"num_threads": 1})");
  LoadReply("hello");
  ASSERT_TRUE(engine_
                  ->Submit("chat.completions", HiJson(),
                           [&, sink = answer.Callback()](auto kind, const std::string& json) {
                             destroyed.reset();
                             sink(kind, json);
                           })
                  .ok());
  ASSERT_TRUE(answer.WaitForEnd());
  EXPECT_EQ(ended.Code(), "model_unloaded");
  EXPECT_EQ(after.message(), "no model is loaded; load one first");
}

TEST_F(ChatEngineTest, CallbacksMaySubmit) {
  LoadReply("hello");
  Answer second;
  ASSERT_TRUE(engine_
                  ->Submit("chat.completions", HiJson(),
                           [&](ChatEventKind, const std::string&) { Submit("", &second); })
                  .ok());
  ASSERT_TRUE(second.WaitForEnd());
  EXPECT_EQ(second.Content(), "hello");
}

// Loads, unloads, requests and everything else at once; a race shows under a sanitizer.
TEST_F(ChatEngineTest, EverythingFromManyThreads) {
  LoadEndless();
  std::vector<std::thread> threads;
  std::deque<Answer> answers(4 * 12);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t, &answers] {
      for (int i = 0; i < 12; ++i) {
        Answer& answer = answers[static_cast<size_t>(t * 12 + i)];
        Result<RequestId> id = engine_->Submit(
            "chat.completions", HiJson(R"("max_tokens": 20, "stream": true)"), answer.Callback());
        if (!id.ok()) {
          EXPECT_TRUE(id.status().Is(Reason::kModelNotLoaded));
          continue;
        }
        if (i % 3 == 0) (void)engine_->Abort(*id);
        EXPECT_TRUE(answer.WaitForEnd());
      }
    });
  }
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(engine_->Unload().ok());
    LoadEndless();
    (void)engine_->MetricsJson();
    (void)engine_->Reset();
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ChatEngineTest, LoadNamesWhatIsWrong) {
  for (const char* json :
       {"", "[]", "{}", R"({"model": 3, "model_lib": "x"})", R"({"model": "m", "model_lib": 3})"}) {
    EXPECT_EQ(engine_->Load(json, nullptr).code(), StatusCode::kInvalidArgument) << json;
  }
  Status library = engine_->Load(R"({"model": "m"})", nullptr);
  EXPECT_EQ(library.code(), StatusCode::kNotFound);
  EXPECT_EQ(library.param(), "model_lib");
  Status device = engine_->Load(R"({"model": "m", "model_lib": "l", "device": "tpu"})", nullptr);
  EXPECT_EQ(device.param(), "device");
  Status folder = engine_->Load(R"({"model": "/nowhere/m", "model_lib": "l"})", nullptr);
  EXPECT_EQ(folder.code(), StatusCode::kNotFound);
  EXPECT_NE(folder.message().find("/nowhere/m"), std::string::npos);
}

// Writes a model folder for the device "fake". Returns the JSON that loads it.
std::string WriteFakeModel(const testing::TempFolder& folder) {
  folder.Write("mlc-chat-config.json",
               R"({"model_type": "fake", "quantization": "q0f32", "context_window_size": 64,
                   "vocab_size": 258, "eos_token_id": [256]})");
  folder.Write("tokenizer.json", testing::ByteTokenizerJson());
  return R"({"device": "fake", "model": ")" + folder.path() + "\"}";
}

TEST_F(ChatEngineTest, TheLastReportCancelsALoadToo) {
  testing::TempFolder folder;
  std::string json = WriteFakeModel(folder);
  Status status = engine_->Load(json, [](double fraction, const char*) { return fraction < 1; });
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(engine_->Pause(false).code(), StatusCode::kUnavailable) << "a model is there";
  EXPECT_TRUE(engine_->Load(json, nullptr).ok());
  EXPECT_TRUE(engine_->Pause(false).ok());
}

TEST_F(ChatEngineTest, DestructionWaitsForALoad) {
  testing::TempFolder folder;
  std::string json = WriteFakeModel(folder);
  std::atomic<bool> loading{false}, destroying{false};
  std::thread loader([&] {
    // "ready" is the last report: Load has not returned.
    Status status = engine_->Load(json, [&](double, const char*) {
      loading = true;
      while (!destroying) std::this_thread::yield();
      return true;
    });
    EXPECT_TRUE(status.ok()) << status.message();
  });
  while (!loading) std::this_thread::yield();
  destroying = true;
  engine_.reset();
  loader.join();
}

TEST_F(ChatEngineTest, ACallbackThatThrowsLosesNothing) {
  LoadReply("hello");
  Answer answer;
  ChatCallback record = answer.Callback();
  Result<RequestId> id = engine_->Submit("chat.completions", HiJson(R"("stream": true)"),
                                         [&](ChatEventKind kind, const auto& json) {
                                           record(kind, json);
                                           throw std::runtime_error("from the caller");
                                         });
  ASSERT_TRUE(id.ok());
  ASSERT_TRUE(answer.WaitForEnd());
  EXPECT_EQ(answer.last_kind(), ChatEventKind::kDone);
  EXPECT_EQ(answer.Streamed(), "hello");
}

TEST_F(ChatEngineTest, APausedAnswerIsTheSameInTheEnd) {
  const std::string members = R"("stream": true, "max_tokens": 60, "n": 2)";
  LoadEndless();
  Answer whole, paused, other;
  Ask(members, &whole);
  RequestId id = Submit(members, &paused);
  ASSERT_TRUE(paused.WaitForChunk());
  ASSERT_TRUE(engine_->PauseRequest(id, true).ok());
  Ask(R"("max_tokens": 5)", &other);
  EXPECT_EQ(other.last_kind(), ChatEventKind::kResult);
  ASSERT_TRUE(engine_->PauseRequest(id, false).ok());
  ASSERT_TRUE(paused.WaitForEnd());
  EXPECT_EQ(paused.last_kind(), ChatEventKind::kDone);
  EXPECT_EQ(paused.Streamed().size(), whole.Streamed().size());
  EXPECT_TRUE(engine_->PauseRequest(id, true).ok()) << "what has ended is ignored";
}

TEST_F(ChatEngineTest, PausedPromptsOfOneAnswerAreAllPaused) {
  LoadEndless();
  Answer answer, other;
  Result<RequestId> id = engine_->Submit(
      "completions", R"({"prompt": ["a", "b", "c"], "max_tokens": 200, "stream": true})",
      answer.Callback());
  ASSERT_TRUE(id.ok());
  ASSERT_TRUE(answer.WaitForChunk());
  ASSERT_TRUE(engine_->PauseRequest(*id, true).ok());
  Ask(R"("max_tokens": 5)", &other);
  EXPECT_NE(engine_->MetricsJson()->find("\"num_running_sequences\":0"), std::string::npos)
      << *engine_->MetricsJson();
  ASSERT_TRUE(engine_->PauseRequest(*id, false).ok());
  ASSERT_TRUE(answer.WaitForEnd());
}

}  // namespace
}  // namespace mlc
