// What drafts by a part of the model cost and give when a known share of them is accepted: it
// drafts as always, then its tokens are replaced by the ones that the model says next, or by wrong
// ones. So random weights show the speed that real ones would have at that share.
//
//   mlc_drafts_bench --model=FOLDER --lib=LIBRARY [--draft=mtp|eagle|medusa]
//   [--rates=0.75,0.6,0.45,0] [--batch=1,4,16]
//                    [--tokens=96] [--runs=5] [--length=0] [--threads=2]
//
// An engine without drafts and one with them answer the same requests in turn. One line of JSON a
// case on stdout; tests/bench/speculation.py reads it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/rng.h"
#include "chat/load/model_loader.h"
#include "engine/engine.h"
#include "engine/speculation/layer_drafter.h"
#include "engine/speculation/medusa.h"
#include "runtime/parallel.h"

namespace mlc {
namespace {

constexpr int kPromptTokens = 32, kContext = 1024;

using Texts = std::map<RequestId, std::vector<int32_t>>;  // prompts with their answers

// Forwards all to the part, and replaces its tokens.
class Synthetic : public Drafter {
 public:
  explicit Synthetic(std::unique_ptr<Drafter> part) : part_(std::move(part)) {}

  bool is_free() const override { return false; }
  bool reads_states() const override { return true; }
  bool reads_chosen_layers() const override { return part_->reads_chosen_layers(); }
  bool drafts_at_once() const override { return part_->drafts_at_once(); }
  void TakeStates(const Sequence& sequence, int first, int count, const float* states) override {
    part_->TakeStates(sequence, first, count, states);
  }
  double seconds_per_draft(int num_tasks) const override {
    return part_->seconds_per_draft(num_tasks);
  }
  void Clear() override { part_->Clear(); }
  Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) override {
    MLC_ASSIGN_OR_RETURN(std::vector<Drafts> drafts, part_->Draft(tasks));
    for (size_t i = 0; i < tasks.size(); ++i) drafts[i] = Replaced(*tasks[i].sequence, drafts[i]);
    return drafts;
  }

  const Texts* texts = nullptr;
  double rate = 0;

 private:
  Drafts Replaced(const Sequence& sequence, const Drafts& drafts) const {
    const std::vector<int32_t>& text = texts->at(sequence.request->request.id);
    std::vector<int32_t> chain;
    for (size_t at = sequence.tokens().size(); static_cast<int>(chain.size()) < drafts.size();
         ++at) {
      int32_t right = at < text.size() ? text[at] : 0;
      double dice = UniformAt(static_cast<uint64_t>(sequence.request->request.id), at);
      chain.push_back(dice < rate ? right : right + 1);
    }
    return chain;
  }
  std::unique_ptr<Drafter> part_;
};

struct World {
  std::unique_ptr<Engine> engine;
  Synthetic* drafter = nullptr;
};

World MakeWorld(const ModelFiles& files, int batch, int length) {
  Result<ModelAndBundle> loaded = LoadModelFiles(files, {}, "");
  if (!loaded.ok()) std::fprintf(stderr, "%s\n", loaded.status().message().c_str()), std::exit(1);
  EngineOptions options;
  options.max_sequences = batch;
  options.max_total_tokens = batch * kContext;
  options.prefix_cache = false;
  options.draft_shape.length = length;
  World world;
  std::unique_ptr<Drafter> drafter;
  if (!files.draft_kind.empty()) {
    MLC_ICHECK(loaded->draft != nullptr);
    int vocabulary = loaded->bundle.tokenizer->vocab_size();
    std::unique_ptr<Drafter> part;
    if (files.draft_kind == kMedusa) {
      part = MedusaDrafter::Create(std::move(loaded->draft), vocabulary).value();
    } else {
      part = LayerDrafter::Create(std::move(loaded->draft), vocabulary, options.max_total_tokens)
                 .value();
    }
    auto synthetic = std::make_unique<Synthetic>(std::move(part));
    world.drafter = synthetic.get();
    drafter = std::move(synthetic);
  }
  auto engine = Engine::Create(std::move(loaded->model), loaded->bundle.tokenizer, options,
                               std::move(drafter));
  MLC_ICHECK(engine.ok());
  world.engine = std::move(engine).value();
  return world;
}

// Tokens a second of decoding: of all requests, from the step in which the last of them began.
double Answer(Engine* engine, int batch, int tokens, Texts* texts) {
  texts->clear();
  for (int id = 1; id <= batch; ++id) {
    Request request;
    request.id = id;
    std::vector<int32_t> prompt;
    for (int i = 0; i < kPromptTokens; ++i) prompt.push_back(3 + (id * 31 + i * 7) % 250);
    (*texts)[id] = prompt;
    request.prompt = std::move(prompt);
    request.max_tokens = tokens;
    request.ignore_eos = true;
    request.sampling.temperature = 0;
    MLC_ICHECK(engine->Add(std::move(request)).ok());
  }
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin;
  int counted = -1;  // tokens behind the beginning
  while (engine->has_work()) {
    engine->Step();
    int fresh = 0;
    for (const RequestEvent& event : engine->TakeEvents()) {
      MLC_ICHECK(event.status.ok());
      for (const Delta& delta : event.deltas) {
        std::vector<int32_t>& text = (*texts)[event.id];
        for (const GeneratedToken& token : delta.tokens) text.push_back(token.id), ++fresh;
      }
    }
    bool all_began = std::all_of(texts->begin(), texts->end(),
                                 [](const auto& one) { return one.second.size() > kPromptTokens; });
    if (counted >= 0) {
      counted += fresh;
    } else if (all_began) {
      counted = 0;
      begin = Clock::now();
    }
  }
  return counted / std::chrono::duration<double>(Clock::now() - begin).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string Option(int argc, char** argv, const char* name, const char* fallback) {
  std::string begin = std::string(name) + "=";
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], begin.c_str(), begin.size()) == 0) return argv[i] + begin.size();
  }
  return fallback;
}

std::vector<double> Numbers(const std::string& text) {
  std::vector<double> found;
  for (size_t at = 0; at < text.size(); at = text.find(',', at) + 1) {
    found.push_back(std::atof(text.c_str() + at));
    if (text.find(',', at) == std::string::npos) break;
  }
  return found;
}

int Main(int argc, char** argv) {
  ModelFiles files;
  files.folder = Option(argc, argv, "--model", "");
  files.library = Option(argc, argv, "--lib", "");
  files.device = *ParseDevice("cpu");
  SetComputeThreads(std::atoi(Option(argc, argv, "--threads", "2").c_str()));
  int tokens = std::atoi(Option(argc, argv, "--tokens", "96").c_str());
  int runs = std::atoi(Option(argc, argv, "--runs", "5").c_str());
  int length = std::atoi(Option(argc, argv, "--length", "0").c_str());
  for (double size : Numbers(Option(argc, argv, "--batch", "1,4,16"))) {
    int batch = static_cast<int>(size);
    World plain = MakeWorld(files, batch, 0);
    for (double rate : Numbers(Option(argc, argv, "--rates", "0.75,0.6,0.45,0"))) {
      files.draft_kind = Option(argc, argv, "--draft",
                                kMtp);  // an engine for each rate: its policy knows nothing yet
      World drafts = MakeWorld(files, batch, length);
      files.draft_kind = "";
      std::vector<double> without, with, gains;
      for (int run = 0; run < runs; ++run) {
        Texts expected, found;
        without.push_back(Answer(plain.engine.get(), batch, tokens, &expected));
        drafts.drafter->texts = &expected;
        drafts.drafter->rate = rate;
        with.push_back(Answer(drafts.engine.get(), batch, tokens, &found));
        gains.push_back(with.back() / without.back());
        if (found != expected) std::fprintf(stderr, "the drafts changed an answer\n"), std::exit(1);
      }
      const SpecMetrics counts = drafts.engine->metrics().speculation;
      double steps = counts.draft_count.empty() ? 0 : static_cast<double>(counts.draft_count[0]);
      double drafted = 0;
      for (size_t i = 1; i < counts.draft_count.size(); ++i) {
        drafted += static_cast<double>(counts.draft_count[i]);
      }
      double draft_seconds = 0;
      for (const auto& [size, times] : counts.draft_times) draft_seconds += times.seconds;
      Json::Array rows;  // of steps with drafts: rows, how many steps, milliseconds of each
      for (const auto& [size, times] : counts.verify_times) {
        double each = 1e3 * times.seconds / static_cast<double>(times.count);
        rows.push_back(Json::Array{Json(size), Json(times.count), Json(each)});
      }
      Json line = Json()
                      .Set("batch", batch)
                      .Set("rate", rate)
                      .Set("plain", Median(without))
                      .Set("drafts", Median(with))
                      .Set("gain", Median(gains))
                      .Set("length", steps > 0 ? drafted / steps : 0.0)
                      .Set("draft_ms", drafted > 0 ? 1e3 * draft_seconds / drafted : 0.0)
                      .Set("rows", rows);
      std::printf("%s\n", line.Dump().c_str());
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) { return mlc::Main(argc, argv); }
