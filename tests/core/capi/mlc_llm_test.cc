#include "mlc_llm.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "platform/folders.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

// A status that a function returned, freed at the end.
class Owned {
 public:
  explicit Owned(MLCStatus* status) : status_(status) {}
  ~Owned() { mlc_status_free(status_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  int code() const { return mlc_status_get_code(status_); }
  std::string message() const { return mlc_status_get_message(status_); }
  std::string Param() const {
    Result<Json> json = Json::Parse(mlc_status_get_error_json(status_));
    EXPECT_TRUE(json.ok());
    const Json* param = json->Find("error")->Find("param");
    return param->is_string() ? param->as_string() : "";
  }

 private:
  MLCStatus* status_;
};

// Takes the folders back at the end.
struct OwnFolders {
  ~OwnFolders() { mlc_status_free(mlc_set_directories("{}")); }
};

void Ignore(void*, int32_t, const char*, size_t) {}

class CApi : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(mlc_engine_create("{}", &engine_), nullptr); }
  void TearDown() override { mlc_engine_destroy(engine_); }
  MLCEngine* engine_ = nullptr;
};

TEST(CApiStatics, VersionsAreThere) {
  EXPECT_EQ(mlc_abi_version(), MLC_LLM_ABI_VERSION);
  EXPECT_GE(std::string(mlc_schema_hash()).size(), 8u);
  EXPECT_NE(std::string(mlc_version()), "");
}

TEST(CApiStatics, NullIsSuccess) {
  EXPECT_EQ(mlc_status_get_code(nullptr), MLC_OK);
  EXPECT_STREQ(mlc_status_get_message(nullptr), "");
  EXPECT_STREQ(mlc_status_get_error_json(nullptr), "");
  mlc_status_free(nullptr);
  mlc_string_free(nullptr);
  mlc_engine_destroy(nullptr);
}

TEST(CApiStatics, ListsDevices) {
  char* text = nullptr;
  ASSERT_EQ(mlc_list_devices(&text), nullptr);
  Result<Json> json = Json::Parse(text);
  mlc_string_free(text);
  ASSERT_TRUE(json.ok());
  int cpus = 0;
  for (const Json& device : json->as_array()) {
    if (device.Find("name")->as_string() != "cpu:0") continue;
    EXPECT_TRUE(device.Find("found")->as_bool());
    EXPECT_GT(device.Find("memory_bytes")->as_int(), 0);
    ++cpus;
  }
  EXPECT_EQ(cpus, 1);
}

TEST(CApiStatics, SetsFoldersAndNamesTheOneThatIsWrong) {
  OwnFolders restored;
  testing::TempFolder folder;
  std::string cache = folder.Path("made/here"), file = folder.Write("file", "");
  auto set = [](const char* name, const std::string& path) {
    return mlc_set_directories(Json::MakeObject().Set(name, path).Dump().c_str());
  };
  ASSERT_EQ(set("cache", cache), nullptr);
  EXPECT_EQ(CacheFolder(), cache);
  EXPECT_EQ(TemporaryFolder(), cache);
  for (const char* name : {"cache", "temporary"}) {
    Owned status(set(name, file + "/below"));
    EXPECT_EQ(status.code(), MLC_INVALID_ARGUMENT);
    EXPECT_EQ(status.Param(), name);
  }
  EXPECT_EQ(Owned(mlc_set_directories(R"({"libraries": "x"})")).Param(), "libraries");
  EXPECT_EQ(Owned(mlc_set_directories(R"({"cache": ""})")).Param(), "cache");
  EXPECT_EQ(CacheFolder(), cache);
}

TEST(CApiStatics, ChoosesADevice) {
  char* text = nullptr;
  ASSERT_EQ(mlc_choose_device("cpu", &text), nullptr);
  Result<Json> json = Json::Parse(text);
  mlc_string_free(text);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Find("name")->as_string(), "cpu:0");
  ASSERT_EQ(json->Find("probes")->as_array().size(), 1u);
  EXPECT_GT(json->Find("probes")->as_array()[0].Find("memory_bytes")->as_int(), 1 << 20);
  ASSERT_EQ(mlc_choose_device("auto", &text), nullptr);
  json = Json::Parse(text);
  mlc_string_free(text);
  ASSERT_TRUE(json.ok());
  const Json& last = json->Find("probes")->as_array().back();
  EXPECT_EQ(last.Find("name")->as_string(), json->Find("name")->as_string());
  EXPECT_TRUE(last.Find("found")->as_bool());
  text = reinterpret_cast<char*>(1);
  EXPECT_EQ(Owned(mlc_choose_device("abacus", &text)).code(), MLC_INVALID_ARGUMENT);
  EXPECT_EQ(text, nullptr);
}

void ExpectNullRefused(MLCStatus* raw, const char* param) {
  Owned status(raw);
  EXPECT_EQ(status.code(), MLC_INVALID_ARGUMENT) << param;
  EXPECT_EQ(status.Param(), param);
}

TEST_F(CApi, EveryNullArgumentIsRefused) {
  char* text = nullptr;
  MLCEngine* none = reinterpret_cast<MLCEngine*>(1);
  ExpectNullRefused(mlc_engine_create("{}", nullptr), "out");
  ExpectNullRefused(mlc_engine_create(nullptr, &none), "config_json");
  EXPECT_EQ(none, nullptr);
  ExpectNullRefused(mlc_engine_load(nullptr, "{}", nullptr, nullptr), "engine");
  ExpectNullRefused(mlc_engine_load(engine_, nullptr, nullptr, nullptr), "model_json");
  ExpectNullRefused(mlc_engine_unload(nullptr), "engine");
  auto submit = [](MLCEngine* engine, const char* route, const char* json,
                   mlc_event_callback callback) {
    return mlc_engine_submit(engine, route, json, 2, nullptr, 0, callback, nullptr, nullptr);
  };
  ExpectNullRefused(submit(nullptr, "tokenize", "{}", Ignore), "engine");
  ExpectNullRefused(submit(engine_, nullptr, "{}", Ignore), "route");
  ExpectNullRefused(submit(engine_, "tokenize", nullptr, Ignore), "json");
  ExpectNullRefused(submit(engine_, "tokenize", "{}", nullptr), "callback");
  ExpectNullRefused(mlc_engine_abort(nullptr, 1), "engine");
  ExpectNullRefused(mlc_engine_pause_request(nullptr, 1), "engine");
  ExpectNullRefused(mlc_engine_resume_request(nullptr, 1), "engine");
  ExpectNullRefused(mlc_engine_reset(nullptr), "engine");
  ExpectNullRefused(mlc_engine_metrics(nullptr, &text), "engine");
  ExpectNullRefused(mlc_engine_metrics(engine_, nullptr), "out_json");
  ExpectNullRefused(mlc_engine_pause(nullptr), "engine");
  ExpectNullRefused(mlc_engine_resume(nullptr), "engine");
  ExpectNullRefused(mlc_engine_trim_memory(nullptr), "engine");
  ExpectNullRefused(mlc_set_directories(nullptr), "directories_json");
  ExpectNullRefused(mlc_list_devices(nullptr), "out_json");
  ExpectNullRefused(mlc_choose_device(nullptr, &text), "device");
  ExpectNullRefused(mlc_choose_device("cpu", nullptr), "out_json");
  EXPECT_EQ(text, nullptr);
}

TEST_F(CApi, WithoutAModel) {
  char* text = reinterpret_cast<char*>(1);
  uint64_t id = 77;
  EXPECT_EQ(Owned(mlc_engine_submit(engine_, "tokenize", "{}", 2, nullptr, 0, Ignore, nullptr, &id))
                .code(),
            MLC_UNAVAILABLE);
  EXPECT_EQ(id, 77u);
  EXPECT_EQ(Owned(mlc_engine_metrics(engine_, &text)).code(), MLC_UNAVAILABLE);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(Owned(mlc_engine_pause(engine_)).code(), MLC_UNAVAILABLE);
  EXPECT_EQ(mlc_engine_abort(engine_, 5), nullptr);
  EXPECT_EQ(mlc_engine_pause_request(engine_, 5), nullptr);
  EXPECT_EQ(mlc_engine_resume_request(engine_, 5), nullptr);
  EXPECT_EQ(mlc_engine_unload(engine_), nullptr);
  EXPECT_EQ(mlc_engine_unload(engine_), nullptr);
  EXPECT_EQ(mlc_engine_trim_memory(engine_), nullptr);
}

TEST_F(CApi, BuffersThatAreNotThereAreRefused) {
  auto submit = [this](const mlc_buffer* buffers, size_t count) {
    return Owned(mlc_engine_submit(engine_, "chat.completions", "{}", 2, buffers, count, Ignore,
                                   nullptr, nullptr));
  };
  mlc_buffer buffers[] = {{"x", 1}, {nullptr, 1}};
  EXPECT_EQ(submit(buffers, 1).code(), MLC_UNAVAILABLE) << "no model is loaded";
  EXPECT_EQ(submit(buffers, 2).Param(), "buffers[1].data");
  EXPECT_EQ(submit(nullptr, 1).Param(), "buffers");
  mlc_buffer empty = {nullptr, 0};
  EXPECT_EQ(submit(&empty, 1).code(), MLC_UNAVAILABLE);
}

TEST_F(CApi, LoadReportsWhatIsMissing) {
  int calls = 0;
  auto progress = [](void* user, double, const char*) { return ++*static_cast<int*>(user), 0; };
  Owned status(mlc_engine_load(engine_, R"({"model": "/nowhere/m", "model_lib": "/nowhere/l.so"})",
                               progress, &calls));
  EXPECT_EQ(status.code(), MLC_NOT_FOUND);
  EXPECT_NE(status.message().find("/nowhere/m"), std::string::npos);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(Owned(mlc_engine_load(engine_, "{", nullptr, nullptr)).code(), MLC_INVALID_ARGUMENT);
}

TEST(CApiCreate, AWrongConfigGivesNoEngine) {
  MLCEngine* engine = reinterpret_cast<MLCEngine*>(1);
  Owned status(mlc_engine_create(R"({"max_num_sequence": "many"})", &engine));
  EXPECT_EQ(status.code(), MLC_INVALID_ARGUMENT);
  EXPECT_EQ(status.Param(), "max_num_sequence");
  EXPECT_EQ(engine, nullptr);
}

}  // namespace
}  // namespace mlc
