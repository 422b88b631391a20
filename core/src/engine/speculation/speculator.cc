#include "engine/speculation/speculator.h"

#include <algorithm>
#include <cstdio>

#include "engine/branches.h"

namespace mlc {
namespace {

// A step of nothing but the next tokens of sequences.
bool IsDecode(const std::vector<StepItem>& items) {
  return std::all_of(items.begin(), items.end(),
                     [](const StepItem& item) { return item.wants_logits && item.num_rows == 1; });
}

// The last of the tokens that the sequence may still take needs no draft.
int MostUsefulDrafts(const Sequence& sequence, int max_length) {
  int left = max_length - sequence.num_tokens();
  int max_tokens = sequence.request->request.max_tokens;
  if (max_tokens >= 0) left = std::min(left, max_tokens - sequence.num_generated());
  return left - 1;
}

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void AddTime(int size, double seconds, std::map<int, SpecMetrics::Times>* times) {
  SpecMetrics::Times& time = (*times)[size];
  ++time.count;
  time.seconds += seconds;
}

// Those that the grammar admits behind one another.
Drafts FittingDrafts(Drafts drafts, Sequence* sequence) {
  if (!drafts.has_branches()) {
    drafts.Truncate(sequence->CountFitting(drafts.tokens()));
  } else if (sequence->has_grammar()) {
    drafts.KeepIf([&](int draft) {
      return sequence->CountFitting(drafts.PathTokens(draft)) == drafts.depth(draft);
    });
  }
  return drafts;
}

}  // namespace

Speculator::Speculator(std::unique_ptr<Drafter> drafter, DraftShape shape,
                       const Tokenizer* tokenizer)
    : drafter_(std::move(drafter)), shape_(shape), tokenizer_(tokenizer) {}

std::vector<Speculator::Request> Speculator::FindRequests(const DraftLimits& limits,
                                                          const KVCache& cache,
                                                          std::vector<StepItem>* items) const {
  int rows = limits.max_rows, pages = cache.num_available_pages();
  for (const StepItem& item : *items) {
    rows -= item.num_rows;
    pages -= cache.PagesNeeded(item.sequence->id, item.num_rows);
  }
  std::vector<Request> requests;
  for (StepItem& item : *items) {
    if (!item.wants_logits || item.sequence->num_generated() == 0) continue;
    const Sequence& sequence = *item.sequence;
    int drafts = std::min({shape_.length > 0 ? shape_.length : kMaxDrafts, rows,
                           MostUsefulDrafts(sequence, limits.max_length)});
    int needed = cache.PagesNeeded(sequence.id, item.num_rows);
    auto extra_pages = [&] {
      return cache.PagesNeeded(sequence.id, item.num_rows + drafts) - needed;
    };
    while (drafts > 0 && extra_pages() > pages) --drafts;
    if (drafts <= 0) continue;
    pages -= extra_pages();
    rows -= drafts;
    requests.push_back({&item, drafts, shape_.width});
  }
  return requests;
}

void Speculator::ChooseLengths(RecordOf record, double draft_seconds,
                               std::vector<Request>* requests) const {
  std::vector<DraftCandidate> candidates;
  for (const Request& request : *requests) {
    DraftChances chances = policy_.Chances((*request.item->sequence).*record);
    candidates.push_back({chances, request.max_drafts, request.width});
  }
  std::vector<int> lengths = policy_.Choose(candidates, draft_seconds);
  for (size_t i = 0; i < lengths.size(); ++i) (*requests)[i].max_drafts = lengths[i];
}

void Speculator::Draft(const std::vector<Request>& requests) {
  std::vector<DraftTask> tasks;
  std::vector<StepItem*> items;
  for (const Request& request : requests) {
    if (request.max_drafts <= 0) continue;
    tasks.push_back({request.item->sequence.get(), request.max_drafts, request.width});
    items.push_back(request.item);
  }
  if (tasks.empty()) return;
  Clock::time_point begin = Clock::now();
  Result<std::vector<Drafts>> drafts = drafter_->Draft(tasks);
  draft_seconds_ = SecondsSince(begin);
  AddTime(static_cast<int>(tasks.size()), draft_seconds_, &metrics_.draft_times);
  if (!drafts.ok()) {
    metrics_.failure = drafts.status().message();
    std::fprintf(stderr, "mlc_llm: speculative decoding ends: %s\n", metrics_.failure.c_str());
    drafter_ = nullptr;
    return;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    items[i]->drafts = FittingDrafts(std::move((*drafts)[i]), items[i]->sequence.get());
  }
}

void Speculator::LimitBranches(const DraftLimits& limits, const KVCache& cache,
                               std::vector<StepItem>* items) {
  int rows = limits.max_rows, pages = cache.num_available_pages();
  int sequences = limits.max_sequences - static_cast<int>(items->size());
  for (const StepItem& item : *items) {
    int item_rows = item.num_rows + item.drafts.FirstChain();
    rows -= item_rows;
    pages -= cache.PagesNeeded(item.sequence->id, item_rows);
    if (item.sequence->is_pooled()) sequences = 0;  // no step has hidden states and branches
  }
  for (StepItem& item : *items) {
    int kept = item.drafts.FirstChain();
    while (kept < item.drafts.size()) {
      int end = item.drafts.BranchEnd(kept);
      sequences -= 1;
      rows -= end - kept;
      pages -= PagesOfBranch(item, kept, cache.page_size());
      if (sequences < 0 || rows < 0 || pages < 0 || end > kMaxTreeDrafts) break;
      kept = end;
    }
    bool is_cut = kept < item.drafts.size();
    item.drafts.Truncate(kept);
    if (is_cut) sequences = 0;  // nor of those behind it
  }
}

void Speculator::Jump(bool is_decode, std::vector<Request>* requests) {
  constexpr int kMaxRows = 64;  // of forced drafts in a step: each has a row of logits
  int rows = kMaxRows;
  std::vector<Request> forced, others;
  for (Request& request : *requests) {
    Sequence& sequence = *request.item->sequence;
    int most = std::min(request.max_drafts, rows);
    bool may_jump = most > 0 && sequence.request->request.jump_forward;
    if (may_jump) request.item->drafts = sequence.ForcedDrafts(*tokenizer_, most);
    int found = request.item->drafts.size();
    rows -= found;
    if (found > 0) forced.push_back({request.item, found});
    if (found == 0) others.push_back(request);
  }
  bool is_adaptive = shape_.length == 0;
  if (is_adaptive && is_decode) ChooseLengths(&Sequence::jump_record, 0, &forced);
  for (const Request& request : forced) {
    request.item->drafts.Truncate(request.max_drafts);
    if (request.max_drafts > 0) jumping_.insert(request.item->sequence->id);
  }
  *requests = std::move(others);
}

void Speculator::AddDrafts(const DraftLimits& limits, const KVCache& cache,
                           std::vector<StepItem>* items) {
  draft_seconds_ = 0;
  jumping_.clear();
  bool is_adaptive = shape_.length == 0, is_decode = IsDecode(*items);
  // Beside chunks of prompts there is no telling what a row costs.
  bool may_draft = drafter_ != nullptr && (!is_adaptive || is_decode);
  if (!may_draft && tokenizer_ == nullptr) return;
  std::vector<Request> requests = FindRequests(limits, cache, items);
  if (tokenizer_ != nullptr) Jump(is_decode, &requests);
  if (!may_draft) return;
  bool is_free = drafter_->is_free();
  if (is_adaptive && !is_free) {
    ChooseLengths(&Sequence::draft_record,
                  drafter_->seconds_per_draft(static_cast<int>(requests.size())), &requests);
  }
  Draft(requests);
  LimitBranches(limits, cache, items);
  if (!is_adaptive || !is_free) return;
  for (Request& request : requests) {
    const Drafts& drafts = request.item->drafts;
    request.max_drafts = drafts.length();
    request.width = (drafts.size() + drafts.length() - 1) / std::max(1, drafts.length());
  }
  ChooseLengths(&Sequence::draft_record, 0, &requests);
  for (Request& request : requests) request.item->drafts.Prune(request.max_drafts);
}

void Speculator::Observe(const std::vector<StepItem>& items,
                         const std::vector<SequenceCommit>& commits, double seconds) {
  int num_rows = 0, num_drafts = 0, num_tokens = 0;
  for (const StepItem& item : items) num_rows += item.num_rows;
  bool is_decode = IsDecode(items);
  for (const SequenceCommit& commit : commits) {
    int drafts = commit.drafts.length();
    num_drafts += commit.drafts.size();
    num_tokens += 1 + commit.num_accepted;
    bool is_jump = jumping_.count(commit.sequence->id) > 0;
    if (is_jump) {
      metrics_.AddJump(drafts, commit.num_accepted);
      policy_.Record(drafts, commit.num_accepted, &commit.sequence->jump_record);
      continue;
    }
    if (drafts > 0) metrics_.AddDrafts(drafts, commit.num_accepted);
    if (drafter_ != nullptr && (is_decode || drafts > 0)) {
      policy_.Record(drafts, commit.num_accepted, &commit.sequence->draft_record);
    }
  }
  num_rows += num_drafts;
  if (num_drafts > 0) AddTime(num_rows, seconds, &metrics_.verify_times);
  if (!is_decode) return;
  policy_.RecordStep(static_cast<int>(items.size()), num_rows, num_tokens, seconds,
                     seconds + draft_seconds_);
}

}  // namespace mlc
