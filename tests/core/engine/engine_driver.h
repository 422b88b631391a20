// An engine on a fake model, driven step by step, and what each request got from it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "model/fake_model.h"
#include "support/byte_tokenizer.h"

namespace mlc::testing {

inline ModelInfo TestInfo() {
  ModelInfo info = FakeModel::SmallInfo();
  info.vocab_size = kByteVocab;
  info.prefill_chunk_size = 64;
  info.max_batch_size = 64;
  return info;
}

struct ChoiceOutcome {
  std::string text;
  std::vector<int32_t> tokens;
  std::optional<FinishReason> finish;
  friend bool operator==(const ChoiceOutcome& a, const ChoiceOutcome& b) {
    return a.text == b.text && a.tokens == b.tokens && a.finish == b.finish;
  }
};

struct Outcome {
  std::map<int, ChoiceOutcome> choices;
  std::vector<GeneratedToken> generated;  // of all choices, as they came
  Status status;
  Usage usage;
  std::vector<double> embedding;
  std::vector<GeneratedToken> prompt;
  std::vector<PromptProgress> progress;
  int num_ends = 0;

  void Add(const RequestEvent& event) {
    EXPECT_EQ(num_ends, 0) << "an event after the last of request " << event.id;
    if (!event.prompt.empty()) {
      EXPECT_TRUE(prompt.empty() && choices.empty()) << "a prompt comes once, and first";
      prompt = event.prompt;
    }
    if (event.progress) {
      EXPECT_TRUE(choices.empty()) << "progress of a prompt behind its first token";
      progress.push_back(*event.progress);
    }
    for (const Delta& delta : event.deltas) {
      ChoiceOutcome& choice = choices[delta.choice];
      EXPECT_FALSE(choice.finish.has_value()) << "a delta after the end of a choice";
      choice.text += delta.text;
      for (const GeneratedToken& token : delta.tokens) {
        choice.tokens.push_back(token.id);
        generated.push_back(token);
      }
      choice.finish = delta.finish;
    }
    if (!event.finished) return;
    ++num_ends;
    status = event.status;
    usage = event.usage;
    embedding = event.embedding;
  }
};

class Driver {
 public:
  static EngineOptions Options() {
    EngineOptions options;
    options.max_sequences = 8;
    options.max_total_tokens = 1024;
    return options;
  }

  explicit Driver(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  Engine& engine() { return *engine_; }
  bool AllPagesFree() const {
    engine_->ClearPrefixCache();
    return engine_->num_free_pages() == engine_->num_pages();
  }
  const std::map<RequestId, Outcome>& outcomes() const { return outcomes_; }

  Status Add(Request request) { return engine_->Add(std::move(request)); }
  void Step() {
    engine_->Step();
    Collect();
  }
  void Collect() {
    for (const RequestEvent& event : engine_->TakeEvents()) outcomes_[event.id].Add(event);
  }
  void Run() {
    for (int step = 0; engine_->has_work(); ++step) {
      ASSERT_LT(step, 20000) << "the engine does not come to an end";
      Step();
    }
    Collect();
  }
  // What a request that has ended got.
  Outcome Take(RequestId id) {
    EXPECT_EQ(outcomes_[id].num_ends, 1) << "request " << id;
    return outcomes_[id];
  }

 private:
  std::unique_ptr<Engine> engine_;
  std::map<RequestId, Outcome> outcomes_;
};

inline std::unique_ptr<Engine> MakeEngine(FakeModel::Script script,
                                          const EngineOptions& options = Driver::Options(),
                                          FakeModel** model = nullptr,
                                          std::unique_ptr<Drafter> drafter = nullptr,
                                          const ModelInfo& info = TestInfo()) {
  auto fake = std::make_unique<FakeModel>(info, std::move(script));
  if (model != nullptr) *model = fake.get();
  Result<std::unique_ptr<Engine>> engine =
      Engine::Create(std::move(fake), ByteTokenizer(), options, std::move(drafter));
  MLC_ICHECK(engine.ok());
  return std::move(engine).value();
}

}  // namespace mlc::testing
