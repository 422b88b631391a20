// The whole engine behind the C interface, with its threads: many callers, loads and unloads in the
// middle of work. On the fake model, and on a compiled one when MLC_TEST_MODEL and
// MLC_TEST_MODEL_LIB name its folder and library; the sanitizers' runs do (`./dev test
// --sanitize`), and tests/python/test_core_on_compiled_model.py.
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "fixture_paths.h"
#include "mlc_llm.h"

namespace mlc {
namespace {

// What one request got. Outlives its last event.
class Answer {
 public:
  static void OnEvent(void* self, int32_t kind, const char* json, size_t size) {
    static_cast<Answer*>(self)->Add(kind, std::string(json, size));
  }

  // The text of the answer, or "error: CODE".
  std::string Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [this] { return num_ends_ > 0; });
    return text_;
  }
  uint64_t id = 0;

 private:
  void Add(int32_t kind, const std::string& text) {
    std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_EQ(num_ends_, 0) << "an event after the last";
    if (kind != MLC_EVENT_DONE) AddJson(kind, text);
    if (kind == MLC_EVENT_CHUNK) return;
    ++num_ends_;
    ended_.notify_all();
  }
  void AddJson(int32_t kind, const std::string& text) {
    Result<Json> json = Json::Parse(text);
    ASSERT_TRUE(json.ok()) << text;
    if (kind == MLC_EVENT_ERROR) {
      text_ = "error: " + json->Find("error")->Find("code")->as_string();
      return;
    }
    for (const Json& choice : json->Find("choices")->as_array()) {
      const Json* message = choice.Find(kind == MLC_EVENT_CHUNK ? "delta" : "message");
      const Json* content = message->Find("content");
      if (content != nullptr && content->is_string()) text_ += content->as_string();
    }
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::string text_;
  int num_ends_ = 0;
};

// Takes a status; true for success.
bool Succeeded(MLCStatus* status) {
  if (status == nullptr) return true;
  ADD_FAILURE() << mlc_status_get_message(status);
  mlc_status_free(status);
  return false;
}

// Whether the request was taken; otherwise no model was loaded at that moment.
bool Submit(MLCEngine* engine, const std::string& body, Answer* answer) {
  MLCStatus* status = mlc_engine_submit(engine, "chat.completions", body.c_str(), body.size(),
                                        nullptr, 0, &Answer::OnEvent, answer, &answer->id);
  if (status == nullptr) return true;
  EXPECT_EQ(mlc_status_get_code(status), MLC_UNAVAILABLE) << mlc_status_get_message(status);
  mlc_status_free(status);
  return false;
}

std::string Ask(MLCEngine* engine, const std::string& body) {
  Answer answer;
  return Submit(engine, body, &answer) ? answer.Wait() : "not taken";
}

std::string Body(int seed, int max_tokens) {
  Json message = Json()
                     .Set("role", "user")
                     .Set("content", std::string(static_cast<size_t>(1 + seed % 5) * 7,
                                                 static_cast<char>('a' + seed)));
  Json messages = Json::MakeArray();
  messages.Append(std::move(message));
  return Json()
      .Set("messages", std::move(messages))
      .Set("seed", seed)
      .Set("temperature", seed % 3 == 0 ? 0.0 : 0.9)
      .Set("n", 1 + seed % 2)
      .Set("max_tokens", max_tokens)
      .Set("stream", seed % 2 == 0)
      .Dump();
}

class EngineLife : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "Fake") {
      model_ = Json().Set("model", MLC_FAKE_MODEL_FOLDER).Set("device", "fake").Dump();
    } else {
      const char* folder = std::getenv("MLC_TEST_MODEL");
      const char* library = std::getenv("MLC_TEST_MODEL_LIB");
      if (folder == nullptr || library == nullptr) GTEST_SKIP() << "MLC_TEST_MODEL is not set";
      model_ = Json().Set("model", folder).Set("model_lib", library).Set("device", "cpu").Dump();
    }
    engine_ = Create();
    Load();
  }
  void TearDown() override { mlc_engine_destroy(engine_); }

  static MLCEngine* Create() {
    MLCEngine* engine = nullptr;
    EXPECT_TRUE(Succeeded(mlc_engine_create(
        R"({"max_num_sequence": 4, "max_total_seq_length": 1024, "context_window_size": 256,
            "prefill_chunk_size": 24, "num_threads": 2})",
        &engine)));
    return engine;
  }
  void Load() { Load(engine_); }
  void Load(MLCEngine* engine) {
    EXPECT_TRUE(Succeeded(mlc_engine_load(engine, model_.c_str(), nullptr, nullptr)));
  }

  std::string model_;
  MLCEngine* engine_ = nullptr;
};

TEST_P(EngineLife, ManyCallersGetWhatEachGetsAlone) {
  constexpr int kRequests = 10;
  std::vector<std::string> alone, together(kRequests);
  for (int i = 0; i < kRequests; ++i) alone.push_back(Ask(engine_, Body(i, 8)));
  std::vector<std::thread> callers;
  for (int i = 0; i < kRequests; ++i) {
    callers.emplace_back([&, i] { together[i] = Ask(engine_, Body(i, 8)); });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(together, alone);
}

TEST_P(EngineLife, AbortAtAnyMoment) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&, i] {
      Answer answer;
      ASSERT_TRUE(Submit(engine_, Body(i, 60), &answer));
      for (int spin = 0; spin < i * 50; ++spin) std::this_thread::yield();
      EXPECT_TRUE(Succeeded(mlc_engine_abort(engine_, answer.id)));
      (void)answer.Wait();
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(Ask(engine_, Body(2, 5)), Ask(engine_, Body(2, 5)));
}

TEST_P(EngineLife, UnloadAndLoadInTheMiddleOfWork) {
  std::string before = Ask(engine_, Body(1, 6));
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Answer>> answers;
    for (int i = 0; i < 4; ++i) {
      answers.push_back(std::make_unique<Answer>());
      ASSERT_TRUE(Submit(engine_, Body(i, 100), answers.back().get()));
    }
    EXPECT_TRUE(Succeeded(mlc_engine_unload(engine_)));
    for (auto& answer : answers) (void)answer->Wait();  // each ends, with an error or before it
    EXPECT_EQ(Ask(engine_, Body(1, 6)), "not taken");
    Load();
    EXPECT_EQ(Ask(engine_, Body(1, 6)), before);
  }
}

TEST_P(EngineLife, CallersMeetALoad) {
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int i = 0; i < 3; ++i) Load();
  });
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 4; ++round) {
        (void)Ask(engine_, Body(i, 4));
        char* metrics = nullptr;
        MLCStatus* status = mlc_engine_metrics(engine_, &metrics);
        mlc_status_free(status);
        mlc_string_free(metrics);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(Ask(engine_, Body(1, 4)), "not taken");
}

TEST_P(EngineLife, EnginesComeAndGo) {
  std::string expected = Ask(engine_, Body(1, 4));
  for (int round = 0; round < 3; ++round) {
    MLCEngine* other = Create();
    Load(other);
    EXPECT_EQ(Ask(other, Body(1, 4)), expected);
    auto unfinished = std::make_unique<Answer>();
    ASSERT_TRUE(Submit(other, Body(3, 100), unfinished.get()));
    mlc_engine_destroy(other);
    (void)unfinished->Wait();
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EngineLife, ::testing::Values("Fake", "Compiled"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace mlc
