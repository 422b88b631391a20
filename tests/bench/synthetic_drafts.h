// A part that drafts, with synthetic acceptance: it drafts as always, then its tokens are replaced
// by the ones that the model says next, or by wrong ones. And the answers of an engine, step by
// step.
#pragma once

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

#include "base/rng.h"
#include "chat/load/model_loader.h"
#include "engine/engine.h"
#include "engine/speculation/layer_drafter.h"
#include "engine/speculation/medusa.h"

namespace mlc::bench {

constexpr int kPromptTokens = 32, kContext = 2048;

struct Text {
  std::vector<int32_t> tokens;  // of a prompt and its answer
  size_t begin;                 // of the answer
};
using Texts = std::map<RequestId, Text>;

// Drafts as a part with states and weights of its own does (a layer or heads), and replaces its
// tokens.
class Synthetic : public Drafter {
 public:
  explicit Synthetic(std::unique_ptr<Drafter> part) : part_(std::move(part)) {}

  bool CanDraft(const Sequence& sequence) const override { return part_->CanDraft(sequence); }
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
      for (size_t at = text.begin; at < text.tokens.size(); ++at) {
        places.emplace_back(UniformAt(static_cast<uint64_t>(id * 1000 + seed), at), at);
      }
      std::sort(places.begin(), places.end());
      std::vector<bool>& right = right_[id];
      right.resize(text.tokens.size());
      auto count = static_cast<size_t>(std::lround(rate * static_cast<double>(places.size())));
      for (size_t i = 0; i < count; ++i) right[places[i].second] = true;
    }
  }
  int most = kMaxDrafts;

 private:
  Drafts Replaced(const Sequence& sequence, const Drafts& drafts) const {
    RequestId id = sequence.request->request.id;
    const std::vector<int32_t>& text = texts_->at(id).tokens;
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
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<int32_t> stop_token_ids;
  std::unique_ptr<Engine> engine;
  Synthetic* drafter = nullptr;
};

inline World MakeWorld(const ModelFiles& files, int batch, int length,
                       Lookup lookup = Lookup::kNone) {
  Result<ModelAndBundle> loaded = LoadModelFiles(files, {}, "");
  if (!loaded.ok()) std::fprintf(stderr, "%s\n", loaded.status().message().c_str()), std::exit(1);
  EngineOptions options;
  options.max_sequences = batch;
  options.max_total_tokens = batch * kContext;
  options.prefix_cache = false;
  options.draft_shape.length = length;
  options.lookup = lookup;
  World world;
  world.tokenizer = loaded->bundle.tokenizer;
  world.stop_token_ids = loaded->bundle.stop_token_ids;
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
  // To prompts that say nothing.
  Answers(Engine* engine, int batch, int tokens) : engine_(engine) {
    for (int id = 1; id <= batch; ++id) {
      std::vector<int32_t> prompt;
      for (int i = 0; i < kPromptTokens; ++i) prompt.push_back(3 + (id * 31 + i * 7) % 250);
      Add(id, std::move(prompt), tokens, {});
    }
  }
  // To one prompt, which may end before.
  Answers(Engine* engine, RequestId id, std::vector<int32_t> prompt, int tokens,
          std::vector<int32_t> stop_token_ids)
      : engine_(engine) {
    Add(id, std::move(prompt), tokens, std::move(stop_token_ids));
  }

  bool done() const { return !engine_->has_work(); }
  int made() const { return made_; }
  const Texts& texts() const { return texts_; }
  // Tokens a second of decoding: of all requests, from the step in which the last of them began to
  // the one in which the first of them ended. Only the time of this engine's steps counts.
  double rate() const { return counted_ / seconds_; }
  int counted() const { return counted_; }
  double seconds() const { return seconds_; }

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
        std::vector<int32_t>& text = texts_[event.id].tokens;
        for (const GeneratedToken& token : delta.tokens) text.push_back(token.id), ++fresh;
      }
    }
    made_ += fresh;
    if (counts) counted_ += fresh, seconds_ += seconds;
    all_began_ = std::all_of(texts_.begin(), texts_.end(), [](const auto& one) {
      return one.second.tokens.size() > one.second.begin;
    });
  }

 private:
  void Add(RequestId id, std::vector<int32_t> prompt, int tokens,
           std::vector<int32_t> stop_token_ids) {
    Request request;
    request.id = id;
    texts_[id] = {prompt, prompt.size()};
    request.prompt = std::move(prompt);
    request.max_tokens = tokens;
    request.ignore_eos = stop_token_ids.empty();
    request.stop_token_ids = std::move(stop_token_ids);
    request.sampling.temperature = 0;
    MLC_ICHECK(engine_->Add(std::move(request)).ok());
  }

  Engine* engine_;
  Texts texts_;
  int made_ = 0, counted_ = 0;
  double seconds_ = 0;
  bool all_began_ = false, has_ended_ = false;
};

inline Answers Answer(Engine* engine, int batch, int tokens) {
  Answers answers(engine, batch, tokens);
  while (!answers.done()) answers.Step();
  return answers;
}

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

inline std::string Option(int argc, char** argv, const char* name, const char* fallback) {
  std::string begin = std::string(name) + "=";
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], begin.c_str(), begin.size()) == 0) return argv[i] + begin.size();
  }
  return fallback;
}

inline std::vector<double> Numbers(const std::string& text) {
  std::vector<double> found;
  for (size_t at = 0; at < text.size(); at = text.find(',', at) + 1) {
    found.push_back(std::atof(text.c_str() + at));
    if (text.find(',', at) == std::string::npos) break;
  }
  return found;
}

}  // namespace mlc::bench
