// What a decode step costs outside of the model: planning, pages, sampling, text, events.
//
// The model is a stand-in whose Forward returns rows of random logits that were made before, and
// whose own time is taken off. One line of JSON a case on stdout; tests/bench/engine.py reads it.
//
//   mlc_engine_bench [--seconds=1.0] [--batch=1,16,64,256] [--vocab=32000,128256]
//                    [--sampling=greedy,sampled]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/engine.h"
#include "model/model.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

constexpr int kPromptTokens = 32;
constexpr int kContext = 4096;

double ProcessCpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Logits as a language model's look: noise, nearly normal with a deviation of 1.5, and a few likely
// tokens far above it.
std::vector<float> RandomLogits(size_t count) {
  constexpr size_t kLikelyEvery = 4099;
  std::vector<float> logits(count);
  uint64_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    float sum = 0;  // of four uniform numbers: mean 2, variance 1/3
    for (int k = 0; k < 4; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      sum += static_cast<float>(state >> 40) / static_cast<float>(1 << 24);
    }
    logits[i] = (sum - 2.0f) * 2.6f + (i % kLikelyEvery == 0 ? 14.0f : 0.0f);
  }
  return logits;
}

class TimedModel : public Model {
 public:
  TimedModel(int batch, int vocab_size) {
    info_.model_type = "bench";
    info_.quantization = "none";
    info_.context_window_size = kContext;
    info_.prefill_chunk_size = 2048;
    info_.max_batch_size = batch;
    info_.vocab_size = vocab_size;
    info_.page_size = 16;
    info_.page_bytes = 16;
    // One row more than a step returns, so that each step can begin elsewhere.
    logits_ = RandomLogits(static_cast<size_t>(batch + 1) * vocab_size);
  }

  const ModelInfo& info() const override { return info_; }
  int64_t AvailableBytes() const override { return int64_t{1} << 40; }
  Status AllocatePages(const std::vector<int>&) override { return Status(); }
  Status CopyPages(const std::vector<int32_t>&, const std::vector<int32_t>&) override {
    return Status();
  }

  Status ReadPages(const std::vector<int32_t>&, char*) const override { return Status(); }
  Status WritePages(const std::vector<int32_t>&, const char*) override { return Status(); }
  Status ClearSlots(int, size_t, char*) const override { return Status(); }
  Status AllocateStates(int) override { return Status(); }
  Status ReadState(int32_t, char*) const override { return Status(); }
  Status WriteState(int32_t, const char*) override { return Status(); }
  Status AllocateAdapters(int) override { return Status(); }
  Status WriteAdapter(const std::vector<int32_t>&, const AdapterWeights&) override {
    return Status();
  }
  int64_t DiscardPages(const std::vector<int32_t>&) override { return 0; }
  int64_t DropWeights() override { return 0; }
  int64_t TouchWeights() override { return 0; }
  Result<const float*> RunHead(const std::vector<float>&, int) override {
    return Unsupported("no head");
  }

  // The rows begin elsewhere each time, so that answers differ from step to step.
  DeviceSampler* sampler() override { return nullptr; }
  Result<Outputs> Forward(const Batch& batch) override {
    double begin = WallSeconds();
    size_t shift = static_cast<size_t>(++num_forwards_) * 977 % info_.vocab_size;
    float* logits = batch.logit_rows.empty() ? nullptr : logits_.data() + shift;
    forward_seconds_ += WallSeconds() - begin;
    return Outputs{logits, nullptr};
  }

  double forward_seconds() const { return forward_seconds_; }

 private:
  ModelInfo info_;
  std::vector<float> logits_;
  int64_t num_forwards_ = 0;
  double forward_seconds_ = 0;
};

// `vocab_size` tokens: the bytes, then words, in byte-level BPE's writing.
std::shared_ptr<const Tokenizer> BenchTokenizer(int vocab_size) {
  Result<Json> json = Json::Parse(testing::ByteTokenizerJson());
  MLC_ICHECK(json.ok());
  Json::Object vocab;  // filled by hand: Json::Set looks for the key first
  for (int byte = 0; byte < 256; ++byte) vocab.emplace_back(testing::ByteCharacter(byte), byte);
  for (int id = testing::kByteVocab; id < vocab_size; ++id) {
    std::string word = "\u0120";  // a space
    for (int rest = id; rest > 0; rest /= 26) word += static_cast<char>('a' + rest % 26);
    vocab.emplace_back(std::move(word), id);
  }
  Json model = Json()
                   .Set("type", "BPE")
                   .Set("vocab", Json(std::move(vocab)))
                   .Set("merges", Json::MakeArray());
  json->Set("model", std::move(model));
  Result<std::unique_ptr<Tokenizer>> made = Tokenizer::FromJson(json->Dump());
  MLC_ICHECK(made.ok());
  return std::move(made).value();
}

struct Case {
  int batch = 0, vocab_size = 0;
  std::string sampling;
};

Request MakeRequest(const Case& of, RequestId id) {
  Request request;
  request.id = id;
  for (int i = 0; i < kPromptTokens; ++i) {
    request.prompt.Append({static_cast<int32_t>((id * 31 + i) % 256)});
  }
  request.sampling.seed = id;
  request.sampling.temperature = of.sampling == "greedy" ? 0.0 : 0.7;
  request.sampling.top_p = of.sampling == "greedy" ? 1.0 : 0.95;
  request.stop_strings = {"\nUser:"};
  request.ignore_eos = true;
  return request;
}

std::unique_ptr<Engine> MakeEngine(const Case& of, std::unique_ptr<Model> model) {
  EngineOptions options;
  options.max_sequences = of.batch;
  options.max_total_tokens = of.batch * kContext;
  Result<std::unique_ptr<Engine>> engine =
      Engine::Create(std::move(model), BenchTokenizer(of.vocab_size), options);
  MLC_ICHECK(engine.ok());
  return std::move(engine).value();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Fills the batch, steps until every request decodes, then measures decode steps alone.
Json RunCase(const Case& of, double seconds) {
  auto owned = std::make_unique<TimedModel>(of.batch, of.vocab_size);
  TimedModel* model = owned.get();
  std::unique_ptr<Engine> engine = MakeEngine(of, std::move(owned));
  for (int id = 1; id <= of.batch; ++id) {
    MLC_ICHECK(engine->Add(MakeRequest(of, static_cast<RequestId>(id))).ok());
  }
  int prefill_steps = of.batch * kPromptTokens / 2048 + 8;
  for (int i = 0; i < prefill_steps; ++i) engine->Step();
  (void)engine->TakeEvents();

  std::vector<double> outside;
  size_t num_events = 0;
  double begin = WallSeconds(), cpu_begin = ProcessCpuSeconds();
  double model_begin = model->forward_seconds();
  // A request ends at the context's end: stay well below.
  int max_steps = kContext - kPromptTokens - prefill_steps - 1;
  while (WallSeconds() - begin < seconds && static_cast<int>(outside.size()) < max_steps) {
    double step_begin = WallSeconds(), forward = model->forward_seconds();
    engine->Step();
    num_events += engine->TakeEvents().size();
    outside.push_back(WallSeconds() - step_begin - (model->forward_seconds() - forward));
  }
  double steps = static_cast<double>(outside.size());
  double wall = WallSeconds() - begin, in_model = model->forward_seconds() - model_begin;
  MLC_ICHECK(num_events >= outside.size());
  return Json()
      .Set("batch", of.batch)
      .Set("vocab", of.vocab_size)
      .Set("sampling", of.sampling)
      .Set("steps", static_cast<int64_t>(outside.size()))
      .Set("steps_per_s", steps / (wall - in_model))
      .Set("outside_us", 1e6 * Median(outside))
      .Set("outside_cpu_us", 1e6 * (ProcessCpuSeconds() - cpu_begin - in_model) / steps);
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string Option(int argc, char** argv, const char* name, const char* fallback) {
  std::string begin = std::string(name) + "=";
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], begin.c_str(), begin.size()) == 0) return argv[i] + begin.size();
  }
  return fallback;
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) {
  using mlc::Option;
  double seconds = std::atof(Option(argc, argv, "--seconds", "1.0").c_str());
  for (const auto& vocab : mlc::Split(Option(argc, argv, "--vocab", "32000,128256"))) {
    for (const auto& sampling : mlc::Split(Option(argc, argv, "--sampling", "greedy,sampled"))) {
      for (const auto& batch : mlc::Split(Option(argc, argv, "--batch", "1,16,64,256"))) {
        mlc::Case of{std::atoi(batch.c_str()), std::atoi(vocab.c_str()), sampling};
        std::printf("%s\n", mlc::RunCase(of, seconds).Dump().c_str());
        std::fflush(stdout);
      }
    }
  }
}
