// What drafts by a part of the model cost and give when a known share of them is accepted: it
// drafts as always, then its tokens are replaced by the ones that the model says next, or by wrong
// ones. So random weights show the speed that real ones would have at that share.
//
//   mlc_drafts_bench --model=FOLDER --lib=LIBRARY [--draft=mtp|eagle|medusa]
//   [--rates=0.75,0.6,0.45,0] [--batch=1,4,16]
//                    [--tokens=96] [--runs=5] [--length=0] [--threads=2]
//
// For each batch it measures first what a step with each number of drafts costs, and a draft. That
// gives the most that drafts can gain at a share: with the best fixed length, known before. Then an
// engine without drafts and one with them answer the same requests, step by step in turn. One line
// of JSON for the costs and for each case on stdout; tests/bench/speculation.py reads them.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
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
constexpr int kCostSteps = 8;  // of each length
constexpr int kLengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15};
constexpr int kCostRows = 48;  // of the largest step whose cost is measured

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
    std::vector<DraftTask> shorter = tasks;
    for (DraftTask& task : shorter) task.max_drafts = std::min(task.max_drafts, most);
    MLC_ASSIGN_OR_RETURN(std::vector<Drafts> drafts, part_->Draft(shorter));
    for (size_t i = 0; i < tasks.size(); ++i) drafts[i] = Replaced(*tasks[i].sequence, drafts[i]);
    return drafts;
  }

  // The answers that will come, and in which share of their places drafts are right: exactly in
  // that share of each answer, at places that depend on `seed`.
  void Expect(const Texts* texts, double rate, int seed) {
    texts_ = texts;
    right_.clear();
    for (const auto& [id, text] : *texts) {
      std::vector<std::pair<double, size_t>> places;
      for (size_t at = kPromptTokens; at < text.size(); ++at) {
        places.emplace_back(UniformAt(static_cast<uint64_t>(id * 1000 + seed), at), at);
      }
      std::sort(places.begin(), places.end());
      std::vector<bool>& right = right_[id];
      right.resize(text.size());
      auto count = static_cast<size_t>(std::lround(rate * static_cast<double>(places.size())));
      for (size_t i = 0; i < count; ++i) right[places[i].second] = true;
    }
  }
  int most = kMaxDrafts;

 private:
  Drafts Replaced(const Sequence& sequence, const Drafts& drafts) const {
    RequestId id = sequence.request->request.id;
    const std::vector<int32_t>& text = texts_->at(id);
    const std::vector<bool>& right = right_.at(id);
    std::vector<int32_t> chain;
    for (size_t at = sequence.tokens().size(); static_cast<int>(chain.size()) < drafts.size();
         ++at) {
      bool is_right = at < text.size() && right[at];
      chain.push_back(is_right ? text[at] : (at < text.size() ? text[at] : 0) + 1);
    }
    return chain;
  }
  std::unique_ptr<Drafter> part_;
  const Texts* texts_ = nullptr;
  std::map<RequestId, std::vector<bool>> right_;
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
  MLC_ICHECK(loaded->draft != nullptr || files.draft_kind == "");
  if (loaded->draft != nullptr) {
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

// A batch of requests that an engine answers, step by step.
class Answers {
 public:
  Answers(Engine* engine, int batch, int tokens) : engine_(engine) {
    for (int id = 1; id <= batch; ++id) {
      Request request;
      request.id = id;
      std::vector<int32_t> prompt;
      for (int i = 0; i < kPromptTokens; ++i) prompt.push_back(3 + (id * 31 + i * 7) % 250);
      texts_[id] = prompt;
      request.prompt = std::move(prompt);
      request.max_tokens = tokens;
      request.ignore_eos = true;
      request.sampling.temperature = 0;
      MLC_ICHECK(engine->Add(std::move(request)).ok());
    }
  }

  bool done() const { return !engine_->has_work(); }
  int made() const { return made_; }
  const Texts& texts() const { return texts_; }
  // Tokens a second of decoding: of all requests, from the step in which the last of them began to
  // the one in which the first of them ended. Only the time of this engine's steps counts.
  double rate() const { return counted_ / seconds_; }

  void Step() {
    using Clock = std::chrono::steady_clock;
    Clock::time_point begin = Clock::now();
    engine_->Step();
    double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    int fresh = 0;
    bool counts = all_began_ && !has_ended_;
    for (const RequestEvent& event : engine_->TakeEvents()) {
      MLC_ICHECK(event.status.ok());
      has_ended_ = has_ended_ || event.finished;
      for (const Delta& delta : event.deltas) {
        std::vector<int32_t>& text = texts_[event.id];
        for (const GeneratedToken& token : delta.tokens) text.push_back(token.id), ++fresh;
      }
    }
    made_ += fresh;
    if (counts) counted_ += fresh, seconds_ += seconds;
    all_began_ = std::all_of(texts_.begin(), texts_.end(),
                             [](const auto& one) { return one.second.size() > kPromptTokens; });
  }

 private:
  Engine* engine_;
  Texts texts_;
  int made_ = 0, counted_ = 0;
  double seconds_ = 0;
  bool all_began_ = false, has_ended_ = false;
};

Answers Answer(Engine* engine, int batch, int tokens) {
  Answers answers(engine, batch, tokens);
  while (!answers.done()) answers.Step();
  return answers;
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

// What drafts of a part cost: milliseconds of a step without drafts, of a step with some for each
// sequence, by their number, and of one more draft for each (of the call, if it makes all).
struct Costs {
  double plain = 0, draft = 0;
  std::map<int, double> steps;
  bool at_once = false;
};

double Total(const std::map<int, SpecMetrics::Times>& times) {
  double sum = 0;
  for (const auto& [size, time] : times) sum += time.seconds;
  return sum;
}

Costs Measure(const ModelFiles& files, int batch, Engine* plain) {
  World world = MakeWorld(files, batch, kMaxDrafts);
  Costs costs;
  costs.at_once = world.drafter->drafts_at_once();
  Answers expected = Answer(plain, batch, (kCostSteps + batch) * (2 + kMaxDrafts));
  costs.plain = 1e3 * batch / expected.rate();
  world.drafter->Expect(&expected.texts(), 1, 0);
  double drafts = 0, seconds = 0;
  for (int length : kLengths) {
    int rows = batch * (1 + length);
    if (length > 1 && rows > kCostRows) break;
    world.drafter->most = length;
    world.engine->ResetMetrics();
    // A layer reads one sequence's prompt in a step, so `batch` steps pass until all have drafts.
    Answer(world.engine.get(), batch, (kCostSteps + batch) * (1 + length));
    const SpecMetrics made = world.engine->metrics().speculation;
    auto step = made.verify_times.find(rows);
    if (step == made.verify_times.end()) break;  // it makes no more drafts
    costs.steps[length] = 1e3 * step->second.seconds / static_cast<double>(step->second.count);
    seconds += Total(made.draft_times);
    for (const auto& [size, time] : made.draft_times) {
      drafts += static_cast<double>(time.count) * (costs.at_once ? 1 : length);
    }
  }
  if (drafts > 0) costs.draft = 1e3 * seconds / drafts;
  return costs;
}

// The most that drafts of a fixed length gain when each is right with probability `rate`, and that
// length.
std::pair<double, int> Best(const Costs& costs, double rate) {
  std::pair<double, int> best = {1, 0};
  for (const auto& [length, step] : costs.steps) {
    double tokens = 1;
    for (int i = 1; i <= length; ++i) tokens += std::pow(rate, i);
    double drafting = costs.draft * (costs.at_once ? 1 : length);
    best = std::max(best, std::make_pair(tokens * costs.plain / (step + drafting), length));
  }
  return best;
}

Json ToJson(const Costs& costs, int batch) {
  Json::Array steps;
  for (const auto& [length, ms] : costs.steps) steps.push_back(Json::Array{Json(length), Json(ms)});
  return Json()
      .Set("batch", batch)
      .Set("plain_ms", costs.plain)
      .Set("draft_ms", costs.draft)
      .Set("steps", steps);
}

// Both engines answer at once, and the one that has made fewer tokens makes the next step. So a
// machine that is slow for a while slows both. The gain of all answers contains what the first
// trials lose; that of the median run does not.
Json Compare(World* plain, World* drafts, int batch, double rate, int tokens, int runs) {
  std::vector<double> without, with, gains;
  double plain_seconds = 0, seconds = 0;  // for each token
  Answers expected = Answer(plain->engine.get(), batch, tokens);
  for (int run = 0; run < runs; ++run) {
    drafts->drafter->Expect(&expected.texts(), rate, run);
    Answers first(plain->engine.get(), batch, tokens);
    Answers second(drafts->engine.get(), batch, tokens);
    while (!first.done() || !second.done()) {
      bool is_first = second.done() || (!first.done() && first.made() <= second.made());
      (is_first ? first : second).Step();
    }
    without.push_back(first.rate());
    with.push_back(second.rate());
    gains.push_back(with.back() / without.back());
    plain_seconds += 1 / without.back();
    seconds += 1 / with.back();
    bool is_same = second.texts() == expected.texts();
    if (!is_same) std::fprintf(stderr, "the drafts changed an answer\n"), std::exit(1);
  }
  const SpecMetrics counts = drafts->engine->metrics().speculation;
  double steps = counts.draft_count.empty() ? 0 : static_cast<double>(counts.draft_count[0]);
  double drafted = 0;
  for (size_t i = 1; i < counts.draft_count.size(); ++i) {
    drafted += static_cast<double>(counts.draft_count[i]);
  }
  Json::Array rows;  // of steps with drafts: rows, how many steps, milliseconds of each
  for (const auto& [size, times] : counts.verify_times) {
    double each = 1e3 * times.seconds / static_cast<double>(times.count);
    rows.push_back(Json::Array{Json(size), Json(times.count), Json(each)});
  }
  return Json()
      .Set("batch", batch)
      .Set("rate", rate)
      .Set("plain", Median(without))
      .Set("drafts", Median(with))
      .Set("gain", Median(gains))
      .Set("all", plain_seconds / seconds)
      .Set("length", steps > 0 ? drafted / steps : 0.0)
      .Set("draft_ms", drafted > 0 ? 1e3 * Total(counts.draft_times) / drafted : 0.0)
      .Set("rows", rows);
}

void Print(const Json& line) {
  std::printf("%s\n", line.Dump().c_str());
  std::fflush(stdout);
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
  ModelFiles with_part = files;
  with_part.draft_kind = Option(argc, argv, "--draft", kMtp);
  for (double size : Numbers(Option(argc, argv, "--batch", "1,4,16"))) {
    int batch = static_cast<int>(size);
    World plain = MakeWorld(files, batch, 0);
    Costs costs = Measure(with_part, batch, plain.engine.get());
    Print(ToJson(costs, batch));
    for (double rate : Numbers(Option(argc, argv, "--rates", "0.75,0.6,0.45,0"))) {
      World drafts = MakeWorld(with_part, batch, length);  // its policy knows nothing yet
      auto [best, best_length] = Best(costs, rate);
      Print(Compare(&plain, &drafts, batch, rate, tokens, runs)
                .Set("best", best)
                .Set("best_length", best_length));
    }
  }
  return 0;
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) { return mlc::Main(argc, argv); }
