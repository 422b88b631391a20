#include "engine/kept/kept_prefixes.h"

#include <algorithm>
#include <cstdio>
#include <future>

#include "engine/engine.h"
#include "engine/engine_loop.h"

namespace mlc {
namespace {

constexpr size_t kMostCandidates = 64;  // behind them the oldest ones are forgotten
// How many blocks a request goes back to find one with an end; each look is at 255 names of files.
constexpr int kMostLooks = 4;
constexpr auto kFinishTime = std::chrono::seconds(3);

// Whether every row must be computed, so that nothing of the prompt is taken from a cache.
bool ReadsAllRows(const Request& request) { return request.pooling || request.prompt_logprobs; }

}  // namespace

bool KeptPrefixes::Suits(const Engine& engine) { return engine.keeps_prefixes(); }

KeptPrefixes::KeptPrefixes(EngineLoop* loop, Engine* engine, PrefixPlaces places)
    : loop_(loop),
      engine_(engine),
      keys_(engine->info(), places.folder.block_tokens),
      store_(std::move(places)),
      least_gain_(std::max(1, keys_.block_tokens() / 8)),
      window_(engine->info().sliding_window_size) {
  engine->OnRetire([this](const Sequence& sequence, bool ends) { Retired(sequence, ends); });
  engine->OnClear([this] { store_.memory().Clear(); });
  int most_tokens = engine->num_kept_tokens(), most_ends = engine->num_kept_ends();
  loop->DoFileWork([this, most_tokens, most_ends] {
    BlockFiles& files = store_.files();
    files.Prepare();
    if (!files.folder().brings_newest) return;
    for (NewestBlock& block : FindNewestBlocks(files, keys_, most_tokens, most_ends)) {
      newest_.push_back(std::move(block));
    }
    BringNext();
  });
}

// One block at a time, so that a request's own blocks need not wait for all of them.
void KeptPrefixes::BringNext() {
  std::shared_ptr<NewestBlock> next;
  KeptBytes kept;
  while (kept.owner == nullptr) {
    if (newest_.empty()) return;
    next = std::make_shared<NewestBlock>(std::move(newest_.front()));
    newest_.pop_front();
    bool has_all_before = lost_.count(next->block.before) == 0;
    if (has_all_before) kept = ReadBlock(*next->prefix, next->block);
    if (kept.owner == nullptr) lost_.insert(next->block.key);
  }
  (void)loop_->Do([this, next, kept](Engine*) {
    bool fits = Adopt(*next->prefix, next->block, kept.body, /*held=*/0);
    loop_->DoFileWork([this, fits] { fits ? BringNext() : newest_.clear(); });
  });
}

KeptBytes KeptPrefixes::ReadBlock(const PrefixIds& prefix, const PrefixBlock& block) const {
  return store_.Read(block.key, keys_.FileHead(prefix, block), keys_.BodyBytes(block));
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
        return block.end <= reading->held || store_.Has(block.key);
      });
  if (!FindEnd(reading->prefix, reading->held, size, &full)) return nullptr;
  for (const PrefixBlock& block : full) {
    if (block.end > reading->held) reading->blocks.push_back(block);
  }
  int gain = full.back().end - reading->held;
  return gain >= least_gain_ ? reading : nullptr;
}

bool KeptPrefixes::FindEnd(const PrefixIds& prefix, int held, int size,
                           std::vector<PrefixBlock>* full) const {
  auto has = [this](const PrefixBlock& block) { return store_.Has(block.key); };
  auto is_end = [&](const PrefixBlock& block) {
    std::vector<PrefixBlock> ends = keys_.EndsOf(block);
    return has(block) && std::all_of(ends.begin(), ends.end(), has);
  };
  for (int looks = kMostLooks;; --looks) {
    int end = full->empty() ? 0 : full->back().end;
    std::vector<PrefixBlock> tails = keys_.Tails(prefix, *full, std::max(end, held) + 1, size);
    auto tail = std::find_if(tails.rbegin(), tails.rend(), is_end);
    if (tail != tails.rend()) full->push_back(*tail);
    if (full->empty() || full->back().end <= held) return false;
    if (is_end(full->back())) break;
    if (looks == 1) return false;
    full->pop_back();
  }
  std::vector<PrefixBlock> ends = keys_.EndsOf(full->back());
  full->insert(full->end(), ends.begin(), ends.end());
  return true;
}

void KeptPrefixes::Read(std::shared_ptr<Reading> reading, RequestId id,
                        std::function<void()> then) {
  loop_->DoFileWork([this, reading = std::move(reading), id, then = std::move(then)] {
    for (size_t i = 0; i < reading->blocks.size() && !reading->ended; ++i) {
      const PrefixBlock& block = reading->blocks[i];
      KeptBytes kept = ReadBlock(reading->prefix, block);
      if (kept.owner == nullptr) break;
      (void)loop_->Do([this, reading, id, block, kept](Engine* engine) {
        bool goes_on = !reading->ended && engine->Holds(id) &&
                       Adopt(reading->prefix, block, kept.body, reading->held);
        if (!goes_on) reading->ended = true;
      });
    }
    (void)loop_->Do([then](Engine*) { then(); });
    UseAll(reading->blocks);
  });
}

bool KeptPrefixes::Adopt(const PrefixIds& prefix, const PrefixBlock& block, std::string_view body,
                         int held) {
  if (!engine_->AdoptBlock(prefix.adapter, prefix.ids, block.begin, block.end, block.part,
                           body.data())) {
    return false;
  }
  bool has_tokens = block.part == KeptPart::kPages;
  engine_->CountKept(has_tokens ? block.end - std::max(block.begin, held) : 0, 0);
  return true;
}

void KeptPrefixes::Retired(const Sequence& sequence, bool ends) {
  const Request& request = sequence.request->request;
  if (!copies_ || sequence.is_pooled()) return;
  auto candidate = std::make_shared<Candidate>();
  candidate->num_computed = Reach(sequence.num_computed);
  int least = ends ? least_gain_ : keys_.block_tokens();
  if (candidate->num_computed < least) return;
  candidate->prefix = MakePrefixIds(request.adapter, request.prompt, sequence.tokens());
  // Where the same prompt ends, and where the next turn of the chat begins. The last token of a
  // prompt is computed again, so a state behind it is of no use.
  int again = sequence.num_prompt_tokens() - (engine_->info().state_bytes > 0 ? 1 : 0);
  for (int length : {again, sequence.num_computed}) {
    std::vector<int32_t> ids = candidate->prefix.ids;
    ids.resize(static_cast<size_t>(std::min(length, candidate->num_computed)));
    if (ends) candidate->ends.push_back(engine_->NumHeldIds(request.adapter, ids));
  }
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

void KeptPrefixes::UseAll(const std::vector<PrefixBlock>& blocks) {
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) store_.Use(block->key);
}

void KeptPrefixes::FindMissing() {
  Candidate& candidate = *writing_;
  std::vector<PrefixBlock>& blocks = candidate.blocks;
  blocks = keys_.FullBlocks(candidate.prefix, candidate.num_computed);
  AddEnds(&blocks);
  store_.memory().BeginPrefix();
  UseAll(blocks);
  for (const PrefixBlock& block : blocks) {
    if (store_.Wants(block.key)) candidate.missing.push_back(block);
  }
}

void KeptPrefixes::AddEnds(std::vector<PrefixBlock>* blocks) const {
  const Candidate& candidate = *writing_;
  std::vector<PrefixBlock> needed;
  auto add = [](const PrefixBlock& block, std::vector<PrefixBlock>* to) {
    auto is_same = [&](const PrefixBlock& other) { return other.key == block.key; };
    if (std::none_of(to->begin(), to->end(), is_same)) to->push_back(block);
  };
  for (int end : candidate.ends) {
    if (end < least_gain_) continue;
    std::vector<PrefixBlock> last = keys_.FullBlocks(candidate.prefix, end);
    for (const PrefixBlock& tail : keys_.Tails(candidate.prefix, last, end, end)) {
      add(tail, blocks);
      last.push_back(tail);
    }
    for (const PrefixBlock& one : keys_.EndsOf(last.back())) add(one, &needed);
  }
  // The last end first: if the prompt's window is gone, what follows is not written.
  blocks->insert(blocks->end(), needed.rbegin(), needed.rend());
}

BlockMemory::Body KeptPrefixes::CopyNext(PrefixBlock* block) {
  std::deque<PrefixBlock>& missing = writing_->missing;
  // the memory may be full meanwhile, and files may have it
  while (!missing.empty() && !store_.Wants(missing.front().key)) missing.pop_front();
  if (missing.empty()) return nullptr;
  *block = missing.front();
  missing.pop_front();
  const PrefixIds& prefix = writing_->prefix;
  Result<std::unique_ptr<char[]>> copied =
      engine_->CopyBlock(prefix.adapter, prefix.ids, block->begin, block->end, block->part);
  if (copied.ok() && *copied != nullptr) return std::move(copied).value();
  missing.clear();  // what follows would not be found
  if (!copied.ok() && copied.status().code() == StatusCode::kUnsupported &&
      std::exchange(copies_, false)) {
    std::fprintf(stderr, "mlc_llm: prefixes are not kept outside the device: %s\n",
                 copied.status().message().c_str());
  }
  return nullptr;
}

void KeptPrefixes::WriteNextBlock() {
  if (writing_ == nullptr) return;
  PrefixBlock block;
  BlockMemory::Body body = CopyNext(&block);
  if (body == nullptr) return WriteNextCandidate();
  loop_->DoFileWork([this, block, body] {
    Write(block, body);
    (void)loop_->Do([this](Engine*) { WriteNextBlock(); });
  });
}

void KeptPrefixes::Write(const PrefixBlock& block, const BlockMemory::Body& body) {
  std::string head = keys_.FileHead(writing_->prefix, block);
  BlockStore::Written written = store_.Write(block.key, head, body, keys_.BodyBytes(block));
  if (!written.anywhere) return writing_->missing.clear();
  if (written.new_file) (void)loop_->Do([](Engine* engine) { engine->CountKept(0, 1); });
  if (writing_->missing.empty()) UseAll(writing_->blocks);
}

void KeptPrefixes::Finish() {
  Clock::time_point end = Clock::now() + kFinishTime;
  // The file thread ends what it is doing with `writing_`; then this thread has it alone.
  auto idle = std::make_shared<std::promise<void>>();  // set_value may outlast the wait
  loop_->DoFileWork([idle] { idle->set_value(); });
  idle->get_future().wait();
  store_.memory().Close();
  while (Clock::now() < end) {
    if (writing_ == nullptr || writing_->missing.empty()) {
      if (candidates_.empty()) return;
      writing_ = std::move(candidates_.front());
      candidates_.pop_front();
      FindMissing();
      continue;
    }
    PrefixBlock block;
    BlockMemory::Body body = CopyNext(&block);
    if (body != nullptr) Write(block, body);
  }
}

}  // namespace mlc
