// The file of a saved conversation out of nowhere: refused with a message, or put into the caches
// of two engines (one with a sliding window), which answer after it and get all their pages back.
//
// A hash that does not fit would end nearly every input early. So each is read as it is, and once
// more with its hashes made to fit, as a forger would.
#include <cstring>

#include "base/hash.h"
#include "engine/kv_state.h"
#include "fuzz.h"
#include "model/fake_model.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

constexpr int kManySteps = 500;

std::unique_ptr<Engine> MakeEngine(int window, int sink) {
  ModelInfo info = FakeModel::SmallInfo();
  info.vocab_size = testing::kByteVocab;
  info.sliding_window_size = window;
  info.attention_sink_size = sink;
  EngineOptions options;
  options.max_total_tokens = 96;
  auto model = std::make_unique<FakeModel>(info, FakeModel::HashOfHistory(info.vocab_size));
  auto engine = Engine::Create(std::move(model), testing::ByteTokenizer(), options);
  MLC_FUZZ_CHECK(engine.ok());
  return std::move(engine).value();
}

void PutNumber(uint64_t value, size_t at, std::string* bytes) {
  for (int i = 0; i < 8; ++i) (*bytes)[at + i] = static_cast<char>(value >> (8 * i));
}

// The same bytes with both hashes where the head says that they are.
std::string Forge(std::string_view data) {
  std::string bytes(data);
  if (bytes.size() < 40) return bytes;
  uint64_t text_bytes = 0, num_tokens = 0;
  std::memcpy(&text_bytes, &bytes[8], 8);
  std::memcpy(&num_tokens, &bytes[16], 8);
  if (text_bytes > bytes.size() || num_tokens > bytes.size()) return bytes;
  size_t head_bytes = 24 + text_bytes + 4 * num_tokens;
  if (head_bytes + 16 > bytes.size()) return bytes;
  std::string_view all = bytes;
  uint64_t head = HashWords(all.substr(0, head_bytes));
  uint64_t pages = HashLanes(all.substr(head_bytes + 8, bytes.size() - head_bytes - 16));
  PutNumber(head, head_bytes, &bytes);
  PutNumber(pages, bytes.size() - 8, &bytes);
  return bytes;
}

void Ask(Engine* engine, const KVFileHead& head) {
  static RequestId next_id = 1;
  Request request;
  request.id = next_id++;
  request.adapter = head.adapter;
  request.prompt = head.tokens;
  request.max_tokens = 3;
  if (!engine->Check(request).ok() || !engine->Add(std::move(request)).ok()) return;
  int steps = 0;
  while (engine->has_work()) {
    MLC_FUZZ_CHECK(++steps < kManySteps);
    engine->Step();
  }
  MLC_FUZZ_CHECK(!engine->TakeEvents().empty());
}

void Adopt(Engine* engine, const KVFile& file) {
  Result<int> held = engine->AdoptState(file);
  int num_tokens = static_cast<int>(file.head.tokens.size());
  if (held.ok()) {
    MLC_FUZZ_CHECK(*held >= 0 && *held <= num_tokens);
    Ask(engine, file.head);
  } else {
    MLC_FUZZ_CHECK(held.status().code() != StatusCode::kInternal);
  }
  engine->ClearPrefixCache();
  MLC_FUZZ_CHECK(engine->num_free_pages() == engine->num_pages());
}

void Read(std::string_view bytes) {
  static const std::unique_ptr<Engine> plain = MakeEngine(-1, 0), sliding = MakeEngine(14, 3);
  Result<KVFile> file = DecodeKVFile(bytes);
  if (!file.ok()) {
    bool is_refusal = file.status().code() == StatusCode::kCorrupt ||
                      file.status().code() == StatusCode::kUnsupported;
    MLC_FUZZ_CHECK(is_refusal && !file.status().message().empty());
    return;
  }
  Adopt(plain.get(), *file);
  Adopt(sliding.get(), *file);
}

MLC_FUZZ_TARGET(kv_file) {
  Read(data);
  Read(Forge(data));
}

}  // namespace
}  // namespace mlc
