// A request body out of nowhere, through the C interface: parsed, validated, rendered, tokenized
// and answered by the fake model. It is refused with a message, or ends exactly once.
#include <condition_variable>
#include <mutex>

#include "base/json.h"
#include "fixture_paths.h"
#include "fuzz.h"
#include "mlc_llm.h"

namespace mlc {
namespace {

class Engine {
 public:
  // One for all inputs: loading costs more than a request.
  static MLCEngine* Get() {
    static Engine engine;
    return engine.handle_;
  }

 private:
  Engine() {
    Check(mlc_engine_create(
        R"({"context_window_size": 96, "max_total_seq_length": 512, "prefill_chunk_size": 32})",
        &handle_));
    std::string model = Json().Set("model", MLC_FAKE_MODEL_FOLDER).Set("device", "fake").Dump();
    Check(mlc_engine_load(handle_, model.c_str(), nullptr, nullptr));
  }
  ~Engine() { mlc_engine_destroy(handle_); }
  static void Check(MLCStatus* status) {
    if (status != nullptr) std::fprintf(stderr, "%s\n", mlc_status_get_message(status));
    MLC_FUZZ_CHECK(status == nullptr);
  }
  MLCEngine* handle_ = nullptr;
};

// What came of one request.
class Answer {
 public:
  static void OnEvent(void* self, int32_t kind, const char* json, size_t size) {
    static_cast<Answer*>(self)->Add(kind, std::string_view(json, size));
  }

  void WaitForEnd() {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [this] { return num_ends_ > 0; });
    MLC_FUZZ_CHECK(num_ends_ == 1);
  }

 private:
  void Add(int32_t kind, std::string_view json) {
    if (kind != MLC_EVENT_DONE) MLC_FUZZ_CHECK(Json::Parse(json).ok());
    std::lock_guard<std::mutex> lock(mutex_);
    MLC_FUZZ_CHECK(num_ends_ == 0);
    if (kind == MLC_EVENT_CHUNK) return;
    ++num_ends_;
    ended_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  int num_ends_ = 0;
};

void Submit(const char* route, std::string_view body) {
  Answer answer;
  MLCStatus* refused = mlc_engine_submit(Engine::Get(), route, body.data(), body.size(), nullptr, 0,
                                         &Answer::OnEvent, &answer, nullptr);
  if (refused == nullptr) return answer.WaitForEnd();
  MLC_FUZZ_CHECK(mlc_status_get_code(refused) != MLC_INTERNAL);
  MLC_FUZZ_CHECK(Json::Parse(mlc_status_get_error_json(refused)).ok());
  mlc_status_free(refused);
}

MLC_FUZZ_TARGET(request) {
  for (const char* route : {"chat.completions", "render", "tokenize", "detokenize", "kv.load"}) {
    Submit(route, data);
  }
}

}  // namespace
}  // namespace mlc
