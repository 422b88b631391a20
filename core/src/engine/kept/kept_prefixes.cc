#include "engine/kept/kept_prefixes.h"

#include <algorithm>
#include <cstdio>
#include <future>
#include <optional>

#include "engine/engine.h"
#include "engine/engine_loop.h"

namespace mlc {
namespace {

constexpr size_t kMostCandidates = 64;  // behind them the oldest ones are forgotten
constexpr auto kFinishTime = std::chrono::seconds(3);

// Whether every row must be computed, so that nothing of the prompt is taken from a cache.
bool ReadsAllRows(const Request& request) { return request.pooling || request.prompt_logprobs; }

}  // namespace

bool KeptPrefixes::Suits(const Engine& engine) {
  return engine.keeps_prefixes() && engine.info().state_bytes == 0;
}

KeptPrefixes::KeptPrefixes(EngineLoop* loop, Engine* engine, PrefixFolder folder)
    : loop_(loop),
      engine_(engine),
      keys_(engine->info(), folder.block_tokens),
      files_(std::move(folder)),
      least_gain_(std::max(1, keys_.block_tokens() / 8)),
      window_(engine->info().sliding_window_size) {
  engine->OnRetire([this](const Sequence& sequence, bool ends) { Retired(sequence, ends); });
  loop->DoFileWork([this] { files_.Prepare(); });
}

int KeptPrefixes::Reach(int num_tokens) const {
  return window_ > 0 ? std::min(num_tokens, window_) : num_tokens;
}

std::shared_ptr<KeptPrefixes::Reading> KeptPrefixes::Find(const Request& request) const {
  int size = Reach(request.prompt.size());
  if (size < least_gain_ || ReadsAllRows(request)) return nullptr;
  Result<std::vector<int32_t>> ids = engine_->PromptIdsOf(request.prompt);
  if (!ids.ok()) return nullptr;  // Add reports it
  auto reading = std::make_shared<Reading>();
  reading->held = engine_->NumHeldIds(request.adapter, *ids);
  if (size - reading->held < least_gain_) return nullptr;
  reading->prefix = MakePrefixIds(request.adapter, request.prompt, std::move(ids).value());
  std::vector<PrefixBlock> full =
      keys_.FullBlocks(reading->prefix, size, [&](const PrefixBlock& block) {
        return block.end <= reading->held || files_.Has(block.key);
      });
  int end = full.empty() ? 0 : full.back().end;
  // The longest tail that a file has.
  std::vector<PrefixBlock> tails =
      keys_.Tails(reading->prefix, full, std::max(end, reading->held) + 1, size);
  auto tail = std::find_if(tails.rbegin(), tails.rend(),
                           [this](const PrefixBlock& block) { return files_.Has(block.key); });
  if (tail != tails.rend()) full.push_back(*tail);
  std::optional<PrefixBlock> window;
  while (keys_.has_windows() && !full.empty() && !window) {
    window = keys_.WindowOf(full.back());
    if (files_.Has(window->key)) break;
    full.pop_back();
    window.reset();
  }
  for (const PrefixBlock& block : full) {
    if (block.end > reading->held) reading->blocks.push_back(block);
  }
  if (reading->blocks.empty()) return nullptr;
  if (window) reading->blocks.push_back(*window);
  int gain = reading->blocks.back().end - reading->held;
  return gain >= least_gain_ ? reading : nullptr;
}

void KeptPrefixes::Read(std::shared_ptr<Reading> reading, RequestId id,
                        std::function<void()> then) {
  loop_->DoFileWork([this, reading = std::move(reading), id, then = std::move(then)] {
    for (size_t i = 0; i < reading->blocks.size() && !reading->ended; ++i) {
      const PrefixBlock& block = reading->blocks[i];
      BlockFiles::Mapped mapped =
          files_.Read(block.key, keys_.FileHead(reading->prefix, block), keys_.PageBytes(block));
      if (mapped.file == nullptr) break;
      (void)loop_->Do([this, reading, id, block, mapped](Engine*) {
        Adopt(reading.get(), id, block, mapped.pages.data());
      });
    }
    (void)loop_->Do([then](Engine*) { then(); });
    (void)UseAll(reading->blocks);
  });
}

void KeptPrefixes::Adopt(Reading* reading, RequestId id, const PrefixBlock& block,
                         const char* pages) {
  if (reading->ended) return;
  const PrefixIds& prefix = reading->prefix;
  bool adopted = engine_->Holds(id) && engine_->AdoptBlock(prefix.adapter, prefix.ids, block.begin,
                                                           block.end, block.group, pages);
  if (!adopted) {
    reading->ended = true;
    return;
  }
  int restored = block.group == 0 ? block.end - std::max(block.begin, reading->held) : 0;
  engine_->CountKept(restored, 0);
}

void KeptPrefixes::Retired(const Sequence& sequence, bool ends) {
  const Request& request = sequence.request->request;
  if (!copies_ || sequence.is_pooled()) return;
  auto candidate = std::make_shared<Candidate>();
  candidate->num_prompt_tokens = sequence.num_prompt_tokens();
  candidate->num_computed = Reach(sequence.num_computed);
  candidate->has_tails = ends;
  int least = ends ? least_gain_ : keys_.block_tokens();
  if (candidate->num_computed < least) return;
  candidate->prefix = MakePrefixIds(request.adapter, request.prompt, sequence.tokens());
  candidates_.push_back(std::move(candidate));
  if (candidates_.size() > kMostCandidates) candidates_.pop_front();
  if (writing_ == nullptr) WriteNextCandidate();
}

void KeptPrefixes::WriteNextCandidate() {
  writing_ = nullptr;
  if (candidates_.empty()) return;
  writing_ = std::move(candidates_.front());
  candidates_.pop_front();
  loop_->DoFileWork([this] {
    FindMissing();
    (void)loop_->Do([this](Engine*) { WriteNextBlock(); });
  });
}

std::vector<PrefixBlock> KeptPrefixes::UseAll(const std::vector<PrefixBlock>& blocks) const {
  std::vector<PrefixBlock> missing;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (!files_.Use(block->key)) missing.push_back(*block);
  }
  return missing;
}

void KeptPrefixes::FindMissing() const {
  Candidate& candidate = *writing_;
  std::vector<PrefixBlock>& blocks = candidate.blocks;
  blocks = keys_.FullBlocks(candidate.prefix, candidate.num_computed);
  if (candidate.has_tails) AddEnds(&blocks);
  std::vector<PrefixBlock> missing = UseAll(blocks);
  if (files_.writes()) candidate.missing.assign(missing.rbegin(), missing.rend());
}

void KeptPrefixes::AddEnds(std::vector<PrefixBlock>* blocks) const {
  const Candidate& candidate = *writing_;
  std::vector<PrefixBlock> windows;
  auto add = [](const PrefixBlock& block, std::vector<PrefixBlock>* to) {
    auto is_same = [&](const PrefixBlock& other) { return other.key == block.key; };
    if (std::none_of(to->begin(), to->end(), is_same)) to->push_back(block);
  };
  // Where the same prompt ends, and where the next turn of the chat begins.
  for (int end : {candidate.num_prompt_tokens, candidate.num_computed}) {
    if (end < least_gain_ || end > candidate.num_computed) continue;
    std::vector<PrefixBlock> last = keys_.FullBlocks(candidate.prefix, end);
    for (const PrefixBlock& tail : keys_.Tails(candidate.prefix, last, end, end)) {
      add(tail, blocks);
      last.push_back(tail);
    }
    if (keys_.has_windows() && !last.empty()) add(keys_.WindowOf(last.back()), &windows);
  }
  // The last end first: if the prompt's window is gone, what follows is not written.
  blocks->insert(blocks->end(), windows.rbegin(), windows.rend());
}

std::unique_ptr<char[]> KeptPrefixes::CopyNext(PrefixBlock* block) {
  *block = writing_->missing.front();
  writing_->missing.pop_front();
  const PrefixIds& prefix = writing_->prefix;
  Result<std::unique_ptr<char[]>> copied =
      engine_->CopyBlock(prefix.adapter, prefix.ids, block->begin, block->end, block->group);
  if (copied.ok() && *copied != nullptr) return std::move(copied).value();
  writing_->missing.clear();  // what follows would not be found
  if (!copied.ok() && copied.status().code() == StatusCode::kUnsupported &&
      std::exchange(copies_, false)) {
    std::fprintf(stderr, "mlc_llm: prefixes are not kept in files: %s\n",
                 copied.status().message().c_str());
  }
  return nullptr;
}

void KeptPrefixes::WriteNextBlock() {
  if (writing_ == nullptr) return;
  PrefixBlock block;
  std::shared_ptr<char[]> pages;
  if (!writing_->missing.empty()) pages = CopyNext(&block);
  if (pages == nullptr) return WriteNextCandidate();
  loop_->DoFileWork([this, block, pages] {
    Write(block, pages.get());
    (void)loop_->Do([this](Engine*) { WriteNextBlock(); });
  });
}

void KeptPrefixes::Write(const PrefixBlock& block, const char* pages) {
  std::string head = keys_.FileHead(writing_->prefix, block);
  auto bytes = static_cast<size_t>(keys_.PageBytes(block));
  if (!files_.Write(block.key, head, {pages, bytes})) return writing_->missing.clear();
  (void)loop_->Do([](Engine* engine) { engine->CountKept(0, /*written_blocks=*/1); });
  if (!writing_->missing.empty()) return;
  (void)UseAll(writing_->blocks);
}

void KeptPrefixes::Finish() {
  Clock::time_point end = Clock::now() + kFinishTime;
  // The file thread ends what it is doing with `writing_`; then this thread has it alone.
  std::promise<void> idle;
  loop_->DoFileWork([&idle] { idle.set_value(); });
  idle.get_future().wait();
  while (Clock::now() < end) {
    if (writing_ == nullptr || writing_->missing.empty()) {
      if (candidates_.empty()) return;
      writing_ = std::move(candidates_.front());
      candidates_.pop_front();
      FindMissing();
      continue;
    }
    PrefixBlock block;
    std::unique_ptr<char[]> pages = CopyNext(&block);
    if (pages != nullptr) Write(block, pages.get());
  }
}

}  // namespace mlc
