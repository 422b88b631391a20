#include "engine/speculation/speculator.h"

#include <algorithm>
#include <cstdio>

#include "engine/branches.h"
#include "engine/speculation/prediction.h"

namespace mlc {
namespace {

// The most known drafts in one step. Each has a row of logits.
constexpr int kMaxKnownDrafts = 64;

// Whether the step computes only the next tokens of sequences.
bool IsDecode(const std::vector<StepItem>& items) {
  return std::all_of(items.begin(), items.end(),
                     [](const StepItem& item) { return item.wants_logits && item.num_rows == 1; });
}

// The last token that a sequence may still take needs no draft.
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

DraftRecord& RecordOf(DraftSource source, Sequence& sequence) {
  return sequence.draft_records[static_cast<size_t>(source)];
}

// The drafts that the grammar allows, one after the other.
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
  int rows = limits.max_rows;
  PageCounts pages = cache.available_pages();
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
    PageCounts needed = cache.PagesNeeded(sequence.id, item.num_rows);
    auto extra_pages = [&] {
      return cache.PagesNeeded(sequence.id, item.num_rows + drafts) - needed;
    };
    while (drafts > 0 && !extra_pages().FitIn(pages)) --drafts;
    if (drafts <= 0) continue;
    pages -= extra_pages();
    rows -= drafts;
    requests.push_back({&item, drafts, shape_.width});
  }
  return requests;
}

void Speculator::ChooseLengths(const DecodeRows& rows, double draft_seconds,
                               std::vector<Request>* requests) const {
  std::vector<DraftCandidate> candidates;
  for (const Request& request : *requests) {
    const DraftRecord& record = RecordOf(request.source, *request.item->sequence);
    DraftChances chances = policy_.Chances(request.source, record);
    // Of a tree that is not drafted yet it is not known how many drafts will be checked: at least
    // one at each depth.
    int width = draft_seconds > 0 ? 1 : request.width;
    candidates.push_back({DraftPolicy::ChainGains(chances, request.max_drafts), width});
  }
  bool at_once = draft_seconds > 0 && drafter_->drafts_at_once();
  std::vector<int> lengths = policy_.Choose(rows, candidates, draft_seconds, at_once);
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

void Speculator::ChooseDrafts(const DecodeRows& rows, const std::vector<Request>& requests) const {
  std::vector<DraftCandidate> candidates;
  for (const Request& request : requests) {
    candidates.push_back({policy_.TreeGains(request.item->drafts)});
  }
  std::vector<int> counts = policy_.Choose(rows, candidates, 0);
  for (size_t i = 0; i < counts.size(); ++i) requests[i].item->drafts.KeepLikeliest(counts[i]);
}

void Speculator::LimitBranches(const DraftLimits& limits, const KVCache& cache,
                               std::vector<StepItem>* items) {
  int rows = limits.max_rows;
  PageCounts pages = cache.available_pages();
  int sequences = limits.max_sequences - static_cast<int>(items->size());
  for (const StepItem& item : *items) {
    int item_rows = item.num_rows + item.drafts.FirstChain();
    rows -= item_rows;
    pages -= cache.PagesNeeded(item.sequence->id, item_rows);
    if (item.sequence->is_pooled()) sequences = 0;  // beside embeddings nothing branches
  }
  for (StepItem& item : *items) {
    int kept = item.drafts.FirstChain();
    while (kept < item.drafts.size()) {
      int end = item.drafts.BranchEnd(kept);
      sequences -= 1;
      rows -= end - kept;
      pages -= PageCounts::Each(PagesOfBranch(item, kept, cache.page_size()));
      bool has_pages = PageCounts().FitIn(pages);
      if (sequences < 0 || rows < 0 || !has_pages || end > kMaxTreeDrafts) break;
      kept = end;
    }
    bool is_cut = kept < item.drafts.size();
    item.drafts.Truncate(kept);
    if (is_cut) sequences = 0;  // and none for the items behind it
  }
}

std::vector<Speculator::Request> Speculator::DraftKnown(bool uses_predictions,
                                                        std::vector<Request>* requests) {
  int rows = kMaxKnownDrafts;
  std::vector<Request> known, others;
  for (Request& request : *requests) {
    Sequence& sequence = *request.item->sequence;
    int most = std::min(request.max_drafts, rows);
    if (most > 0 && tokenizer_ != nullptr && sequence.request->request.jump_forward) {
      request.source = DraftSource::kForced;
      request.item->drafts = sequence.ForcedDrafts(*tokenizer_, most);
    }
    if (most > 0 && uses_predictions && request.item->drafts.empty()) {
      request.source = DraftSource::kPrediction;
      request.item->drafts = FittingDrafts(LookUpPrediction(sequence, most), &sequence);
    }
    if (request.item->drafts.empty()) {
      request.source = DraftSource::kDrafter;
      others.push_back(request);
      continue;
    }
    request.max_drafts = request.item->drafts.size();
    rows -= request.max_drafts;
    known_[sequence.id] = request.source;
    known.push_back(request);
  }
  *requests = std::move(others);
  return known;
}

void Speculator::AddDrafts(const DraftLimits& limits, const KVCache& cache,
                           std::vector<StepItem>* items) {
  draft_seconds_ = 0;
  known_.clear();
  if (drafter_ != nullptr) drafter_->SeeCache(cache);
  if (drafter_ != nullptr && drafter_->reads_states()) {
    for (StepItem& item : *items) item.wants_states = !item.sequence->is_pooled();
  }
  bool is_adaptive = shape_.is_adaptive(), is_decode = IsDecode(*items);
  // Beside chunks of prompts, the cost of a row is not known.
  bool may_guess = !is_adaptive || is_decode;
  DecodeRows rows{static_cast<int>(items->size())};
  std::vector<Request> requests = FindRequests(limits, cache, items);
  std::vector<Request> drafted = DraftKnown(may_guess, &requests);
  bool may_draft = drafter_ != nullptr && may_guess;
  bool is_free = may_draft && drafter_->is_free();
  if (is_free) {
    Draft(requests);
    LimitBranches(limits, cache, items);
    for (Request& request : requests) {
      const Drafts& drafts = request.item->drafts;
      request.max_drafts = drafts.length();
      request.width = (drafts.size() + drafts.length() - 1) / std::max(1, drafts.length());
    }
    drafted.insert(drafted.end(), requests.begin(), requests.end());
  }
  if (is_adaptive && is_decode) {
    ChooseLengths(rows, 0, &drafted);
    for (Request& request : drafted) request.item->drafts.Prune(request.max_drafts);
  }
  if (!may_draft || is_free) return;
  if (is_adaptive) {
    for (const Request& request : drafted) rows.drafts += request.item->drafts.size();
    double seconds = drafter_->seconds_per_draft(static_cast<int>(requests.size()));
    // until the cost of a draft is known, one is enough to measure it
    for (Request& request : requests) {
      if (seconds == 0) request.max_drafts = std::min(request.max_drafts, 1);
    }
    ChooseLengths(rows, seconds, &requests);
  }
  Draft(requests);
  if (is_adaptive && shape_.width > 1) ChooseDrafts(rows, requests);
  LimitBranches(limits, cache, items);
}

void Speculator::TakeStates(const std::vector<StepItem>& items,
                            const std::vector<RowStates>& states,
                            const std::vector<SequenceCommit>& commits) {
  auto commit = commits.begin();  // in the order of the items, with new choices between them
  for (size_t i = 0; i < items.size(); ++i) {
    const StepItem& item = items[i];
    std::vector<int> accepted;
    if (item.wants_logits) {
      while (commit->sequence != item.sequence) ++commit;
      accepted = item.drafts.Path(commit->last_accepted);
    }
    if (!item.wants_states) continue;
    int row = item.sequence->num_computed - item.num_rows;
    drafter_->TakeStates(*item.sequence, row, item.num_rows, states[i].first);
    row += item.num_rows;
    for (int draft : accepted) {
      const float* state = states[i].first + states[i].size * (item.num_rows + draft);
      drafter_->TakeStates(*item.sequence, row++, 1, state);
    }
  }
}

void Speculator::Observe(const std::vector<StepItem>& items, const std::vector<RowStates>& states,
                         const std::vector<SequenceCommit>& commits, double seconds) {
  if (drafter_ != nullptr) TakeStates(items, states, commits);
  int num_rows = 0, num_drafts = 0, num_tokens = 0;
  for (const StepItem& item : items) num_rows += item.num_rows;
  bool is_decode = IsDecode(items);
  for (const SequenceCommit& commit : commits) {
    if (drafter_ != nullptr) drafter_->Learn(commit.sequence.get());
    int drafts = commit.drafts.length(), accepted = commit.num_accepted;
    num_drafts += commit.drafts.size();
    num_tokens += 1 + accepted;
    DraftGain counts{commit.drafts.size(), accepted};
    commit.sequence->request->drafts.Add(counts);
    metrics_.all.Add(counts);
    auto known = known_.find(commit.sequence->id);
    DraftSource source = known == known_.end() ? DraftSource::kDrafter : known->second;
    if (source == DraftSource::kForced) metrics_.jump_forward.Add(drafts, accepted);
    if (source == DraftSource::kPrediction) {
      metrics_.prediction.Add(drafts, accepted);
      commit.sequence->request->accepted_prediction_tokens += accepted;
      commit.sequence->request->rejected_prediction_tokens += drafts - accepted;
    }
    bool is_by_drafter = source == DraftSource::kDrafter;
    if (is_by_drafter && drafts > 0) metrics_.AddDrafts(drafts, accepted);
    if (is_by_drafter && shape_.width > 1) policy_.RecordTree(commit.drafts, accepted);
    if (is_decode || drafts > 0) {
      policy_.Record(source, drafts, accepted, &RecordOf(source, *commit.sequence));
    }
  }
  num_rows += num_drafts;
  if (num_drafts > 0) AddTime(num_rows, seconds, &metrics_.verify_times);
  if (!is_decode) return;
  int num_sequences = static_cast<int>(items.size());
  double with_drafting = seconds + draft_seconds_;
  policy_.RecordStep(num_sequences, num_rows, num_tokens, seconds, with_drafting);
  bool has_drafts = num_drafts > 0 || draft_seconds_ > 0;
  double plain = has_drafts ? policy_.PlainSeconds(num_sequences) : with_drafting;
  if (plain == 0) return;  // not known yet
  for (const SequenceCommit& commit : commits) {
    double own = 1 + commit.num_accepted;
    commit.sequence->request->drafts.Add({0, 0, with_drafting, own * plain});
  }
  double tokens = num_tokens;
  metrics_.all.Add({0, 0, with_drafting, tokens / num_sequences * plain});
}

}  // namespace mlc
