// An engine on threads that keeps its prefixes in a folder, and what is asked of it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <future>

#include "engine/engine_driver.h"
#include "engine/engine_loop.h"
#include "engine/kept/kept_prefixes.h"
#include "support/byte_tokenizer.h"

namespace mlc::testing {

namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::seconds(60);  // only ever waited for by a bug
constexpr int kBlock = 8;                             // tokens: two pages

inline ModelInfo LongInfo() {
  ModelInfo info = TestInfo();
  info.context_window_size = 512;
  return info;
}

inline EngineOptions Options(int max_total_tokens = 512) {
  EngineOptions options;
  options.max_total_tokens = max_total_tokens;
  return options;
}

inline std::vector<int32_t> Numbers(int count, int factor = 7) {
  std::vector<int32_t> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back((i + 1) * factor % 200);
  return tokens;
}

inline std::vector<int32_t> Join(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// An engine on threads that answers by a hash of the whole history, and keeps its prefixes in
// `folder` ("": not in files) and in memory. When it ends, all is written.
class KeptHost {
 public:
  explicit KeptHost(const std::string& folder, const ModelInfo& info = LongInfo(),
                    const EngineOptions& options = Options(), bool brings_newest = false,
                    int64_t memory_bytes = 0) {
    auto model = std::make_unique<FakeModel>(info, FakeModel::HashOfHistory(kByteVocab));
    auto engine = Engine::Create(std::move(model), ByteTokenizer(), options);
    MLC_ICHECK(engine.ok());
    loop = std::make_unique<EngineLoop>(std::move(engine).value(), nullptr);
    PrefixPlaces kept;
    kept.memory_bytes = memory_bytes;
    kept.folder.path = folder;
    kept.folder.block_tokens = kBlock;
    kept.folder.brings_newest = brings_newest;
    if (kept.any()) loop->KeepPrefixes(kept);
  }

  Request Ask(Prompt prompt, int max_tokens) {
    Request request;
    request.id = next_id_++;
    request.prompt = std::move(prompt);
    request.max_tokens = max_tokens;
    request.sampling.temperature = 0;
    request.ignore_eos = true;
    return request;
  }
  std::future<Outcome> Start(Request request) {
    auto outcome = std::make_shared<Outcome>();
    auto ended = std::make_shared<std::promise<Outcome>>();
    loop->Submit(std::move(request), [ended, outcome](const RequestEvent& event) {
      outcome->Add(event);
      if (event.finished) ended->set_value(*outcome);
    });
    return ended->get_future();
  }
  static Outcome Wait(std::future<Outcome> outcome) {
    MLC_ICHECK(outcome.wait_for(kPatience) == std::future_status::ready);
    return outcome.get();
  }
  Outcome Answer(Prompt prompt, int max_tokens = 8) {
    return Wait(Start(Ask(std::move(prompt), max_tokens)));
  }
  // Waits until the file thread has done what it had to do, and the compute thread what followed.
  void WaitForFiles() {
    for (int i = 0; i < 200; ++i) {
      auto done = std::make_shared<std::promise<void>>();
      loop->Do([this, done](Engine*) { loop->DoFileWork([done] { done->set_value(); }); });
      MLC_ICHECK(done->get_future().wait_for(kPatience) == std::future_status::ready);
    }
  }
  // The file thread does nothing from now on, until the promise is set.
  std::shared_ptr<std::promise<void>> HoldFiles() {
    auto gate = std::make_shared<std::promise<void>>();
    loop->Do([this, gate](Engine*) {
      loop->DoFileWork([opened = gate->get_future().share()] { opened.wait(); });
    });
    return gate;
  }

  std::unique_ptr<EngineLoop> loop;

 private:
  RequestId next_id_ = 1;
};

inline Outcome Cold(const Prompt& prompt, int max_tokens = 8) {
  return KeptHost("").Answer(prompt, max_tokens);
}

inline std::vector<fs::path> FilesIn(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

}  // namespace mlc::testing
