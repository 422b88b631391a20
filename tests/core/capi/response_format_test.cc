// Every kind of response_format through the C interface: answers of its shape, refusals that name
// the field.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <regex>
#include <string>

#include "base/json.h"
#include "fixture_paths.h"
#include "mlc_llm.h"

namespace mlc {
namespace {

class Waiter {
 public:
  static void OnEvent(void* self, int32_t kind, const char* json, size_t size) {
    static_cast<Waiter*>(self)->Put(kind, std::string(json, size));
  }
  // The last event and its JSON.
  std::pair<int32_t, Json> Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    bool has_ended =
        changed_.wait_for(lock, std::chrono::seconds(60), [this] { return !json_.empty(); });
    EXPECT_TRUE(has_ended);
    return {kind_, Json::Parse(json_).value()};
  }

 private:
  void Put(int32_t kind, std::string json) {
    std::lock_guard<std::mutex> lock(mutex_);
    kind_ = kind;
    json_ = std::move(json);
    changed_.notify_one();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  int32_t kind_ = -1;
  std::string json_;
};

class ResponseFormat : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(mlc_engine_create("{}", &engine_), nullptr);
    std::string model = Json().Set("model", MLC_FAKE_MODEL_FOLDER).Set("device", "fake").Dump();
    ASSERT_EQ(mlc_engine_load(engine_, model.c_str(), nullptr, nullptr), nullptr);
  }
  void TearDown() override { mlc_engine_destroy(engine_); }

  std::pair<int32_t, Json> Ask(const std::string& format, int seed) {
    std::string body = R"({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 60, )"
                       R"("temperature": 1, "seed": )" +
                       std::to_string(seed) + R"(, "response_format": )" + format + "}";
    Waiter waiter;
    MLCStatus* status = mlc_engine_submit(engine_, "chat.completions", body.data(), body.size(),
                                          nullptr, 0, Waiter::OnEvent, &waiter, nullptr);
    if (status == nullptr) return waiter.Wait();
    Json error = Json::Parse(mlc_status_get_error_json(status)).value();
    mlc_status_free(status);
    return {MLC_EVENT_ERROR, std::move(error)};
  }

  MLCEngine* engine_ = nullptr;
};

struct Kind {
  const char* format;
  const char* shape;  // of what ends by itself
};

TEST_F(ResponseFormat, EveryKindShapesItsAnswers) {
  const Kind kinds[] = {
      {R"({"type": "text"})", "[^]*"},
      {R"({"type": "json_object"})", "\\{[^]*\\}"},
      {R"({"type": "json_object", "schema": "{\"enum\": [{\"a\": 1}]}"})", "\\{\"a\": ?1\\}"},
      {R"({"type": "json_schema", "json_schema": {"name": "n", "schema":
           {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}}})",
       "\\{\"ok\": (true|false)\\}"},
      {R"j({"type": "regex", "regex": "[a-f]{2,5}(no|yes)"})j", "[a-f]{2,5}(no|yes)"},
      {R"({"type": "grammar", "grammar": "root ::= \"<\" [0-9] root? \">\""})", "(<[0-9])+>+"},
      {R"({"type": "structural_tag", "format": {"type": "tag", "begin": "<n>", "end": "</n>",
           "content": {"type": "json_schema", "json_schema": {"type": "integer"}}}})",
       "<n>-?[0-9]+</n>"},
  };
  for (const Kind& kind : kinds) {
    int complete = 0;
    for (int seed = 0; seed < 5; ++seed) {
      auto [event, json] = Ask(kind.format, seed);
      ASSERT_EQ(event, MLC_EVENT_RESULT) << kind.format << json.Dump();
      const Json& choice = json.Find("choices")->as_array()[0];
      if (choice.Find("finish_reason")->as_string() != "stop") continue;
      ++complete;
      std::string text = choice.Find("message")->Find("content")->as_string();
      EXPECT_TRUE(std::regex_match(text, std::regex(kind.shape))) << kind.format << ": " << text;
    }
    bool is_short = std::string(kind.format).find("text") == std::string::npos &&
                    std::string(kind.format) != R"({"type": "json_object"})";
    if (is_short) EXPECT_GT(complete, 0) << kind.format;
  }
}

TEST_F(ResponseFormat, RefusalsNameTheField) {
  const Kind kinds[] = {
      {R"({"type": "poem"})", "response_format"},
      {R"({"type": "json_schema", "json_schema": {"name": "n", "schema": {"not": {}}}})",
       "response_format.json_schema.schema"},
      {R"j({"type": "regex", "regex": "("})j", "response_format.regex"},
      {R"({"type": "grammar", "grammar": "root ::= nothing"})", "response_format.grammar"},
      {R"({"type": "structural_tag", "format": {"type": "nothing"}})", "response_format"},
  };
  for (const Kind& kind : kinds) {
    auto [event, json] = Ask(kind.format, 1);
    ASSERT_EQ(event, MLC_EVENT_ERROR) << kind.format;
    const Json* param = json.Find("error")->Find("param");
    ASSERT_TRUE(param != nullptr && param->is_string()) << json.Dump();
    EXPECT_EQ(param->as_string().rfind(kind.shape, 0), 0u) << param->as_string();
  }
}

}  // namespace
}  // namespace mlc
