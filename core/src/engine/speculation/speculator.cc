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

void AddTime(int size, double seconds, std::map<int, SpecMetrics::Times>* times) {
  SpecMetrics::Times& time = (*times)[size];
  ++time.count;
  time.seconds += seconds;
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

Speculator::Speculator(std::unique_ptr<Drafter> drafter, DraftShape shape, Lookup lookup,
                       const Tokenizer* tokenizer, std::function<Clock::time_point()> now)
    : drafter_(std::move(drafter)),
      shape_(shape),
      tokenizer_(tokenizer),
      lookup_(lookup),
      now_(std::move(now)) {}

void Speculator::Clear() {
  if (drafter_ != nullptr) drafter_->Clear();
  lookup_.Clear();
}

std::vector<Speculator::Request> Speculator::FindRequests(const DraftLimits& limits,
                                                          const KVCache& cache,
                                                          std::vector<StepItem>* items) const {
  int rows = limits.max_rows, states = cache.num_spare_states();
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
    // Behind a refused draft without a state, rows must be computed again. Of one draft it is one.
    if (cache.has_states()) drafts = std::min(drafts, std::max(1, states - 1));
    PageCounts needed = cache.PagesNeeded(sequence.id, item.num_rows);
    auto extra_pages = [&] {
      return cache.PagesNeeded(sequence.id, item.num_rows + drafts) - needed;
    };
    while (drafts > 0 && !extra_pages().FitIn(pages)) --drafts;
    if (drafts <= 0) continue;
    pages -= extra_pages();
    rows -= drafts;
    states -= 1 + drafts;
    bool can_draft = drafter_ != nullptr && drafter_->CanDraft(sequence);
    requests.push_back({&item, drafts, can_draft, drafts, shape_.width});
  }
  return requests;
}

void Speculator::Draft(const std::vector<Request>& requests) {
  std::vector<DraftTask> tasks;
  std::vector<StepItem*> items;
  for (const Request& request : requests) {
    if (!request.can_draft || request.source != DraftSource::kDrafter) continue;
    if (request.max_drafts <= 0) continue;
    tasks.push_back({request.item->sequence.get(), request.max_drafts, request.width});
    items.push_back(request.item);
  }
  if (tasks.empty()) return;
  by_drafter_ = true;
  Clock::time_point begin = now_();
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
  std::vector<Drafts*> trees;
  for (const Request& request : requests) {
    if (request.source != DraftSource::kDrafter) continue;
    trees.push_back(&request.item->drafts);
    candidates.push_back({policy_.TreeGains(*trees.back())});
  }
  std::vector<int> counts = policy_.Choose(rows, candidates, 0).counts;
  for (size_t i = 0; i < trees.size(); ++i) trees[i]->KeepLikeliest(counts[i]);
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

void Speculator::FindDrafts(bool may_guess, const DraftLimits& limits, const KVCache& cache,
                            std::vector<StepItem>* items, std::vector<Request>* requests) {
  int rows = kMaxKnownDrafts;
  for (Request& request : *requests) {
    Sequence& sequence = *request.item->sequence;
    Drafts& drafts = request.item->drafts;
    int most = std::min(request.max_drafts, rows);
    if (most > 0 && tokenizer_ != nullptr && sequence.request->request.jump_forward) {
      request.source = DraftSource::kForced;
      drafts = sequence.ForcedDrafts(*tokenizer_, most);
    }
    if (!drafts.empty() || !may_guess) {
      rows -= drafts.size();
      continue;
    }
    Drafts predicted;
    if (most > 0) predicted = FittingDrafts(LookUpPrediction(sequence, most), &sequence);
    FoundDrafts found = lookup_.Find(sequence.tokens(), request.max_drafts, request.width);
    auto source = found.run < kLongRunTokens ? DraftSource::kShortRun : DraftSource::kLongRun;
    drafts = FittingDrafts(std::move(found.drafts), &sequence);
    auto promise = [&](DraftSource of, const Drafts& some) {
      return Promise({request.item, 0, false, some.length(), 1, of});
    };
    bool is_predicted = !predicted.empty() &&
                        promise(DraftSource::kPrediction, predicted) >= promise(source, drafts);
    request.source = is_predicted ? DraftSource::kPrediction : source;
    if (!is_predicted) continue;
    rows -= predicted.size();
    drafts = std::move(predicted);
  }
  LimitBranches(limits, cache, items);
  for (Request& request : *requests) {
    const Sequence& sequence = *request.item->sequence;
    const Drafts& drafts = request.item->drafts;
    if (!drafts.empty()) found_[sequence.id] = {request.source, drafts, sequence.num_tokens()};
    request.source = DraftSource::kDrafter;
    TakeFound(&request);
  }
}

void Speculator::AddDrafts(const DraftLimits& limits, const KVCache& cache,
                           std::vector<StepItem>* items) {
  draft_seconds_ = 0;
  found_.clear();
  by_drafter_ = false;
  if (drafter_ != nullptr) drafter_->SeeCache(cache);
  if (drafter_ != nullptr && drafter_->reads_states()) {
    for (StepItem& item : *items) item.wants_states = !item.sequence->is_pooled();
  }
  bool is_adaptive = shape_.is_adaptive(), is_decode = IsDecode(*items);
  // Beside chunks of prompts, the cost of a row is not known.
  bool may_guess = !is_adaptive || is_decode;
  Plan plan{FindRequests(limits, cache, items), {}};
  bool may_look = may_guess && (!is_adaptive || policy_.MayLookUp());
  Clock::time_point begin = now_();
  FindDrafts(may_look, limits, cache, items, &plan.requests);
  find_seconds_ = SecondsSince(begin);
  if (!may_guess) return;
  if (is_adaptive) {
    plan = ChoosePlan(static_cast<int>(items->size()), std::move(plan.requests));
  } else if (drafter_ != nullptr) {
    ChooseSources(&plan.requests);
  }
  for (const Request& request : plan.requests) {
    Drafts& drafts = request.item->drafts;
    drafts.Prune(request.source == DraftSource::kDrafter ? 0 : request.max_drafts);
    auto found = found_.find(request.item->sequence->id);
    if (found != found_.end()) found->second.is_used = !drafts.empty();
  }
  if (drafter_ == nullptr) return;
  Draft(plan.requests);
  PutBack(&plan);
  if (is_adaptive && shape_.width > 1) ChooseDrafts(plan.rows, plan.requests);
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

DraftSource Speculator::LearnFound(Sequence* sequence) {
  auto entry = found_.find(sequence->id);
  if (entry == found_.end()) return DraftSource::kDrafter;
  const Found& found = entry->second;
  // Also drafts that were not checked are compared, so no trial is needed to learn of them.
  int count = std::min(found.drafts.length(), sequence->num_tokens() - found.begin);
  int agreeing = 0, last = Drafts::kKnown;
  while (agreeing < count) {
    last =
        found.drafts.Child(last, sequence->tokens()[static_cast<size_t>(found.begin + agreeing)]);
    if (last == Drafts::kNone) break;
    ++agreeing;
  }
  policy_.Record(found.source, count, agreeing, &RecordOf(found.source, sequence));
  return found.is_used ? found.source : DraftSource::kDrafter;
}

void Speculator::Count(DraftSource source, const SequenceCommit& commit) {
  int drafts = commit.drafts.length(), accepted = commit.num_accepted;
  DraftGain counts{commit.drafts.size(), accepted};
  commit.sequence->request->drafts.Add(counts);
  metrics_.all.Add(counts);
  if (drafts == 0) return;
  if (source == DraftSource::kForced) {
    metrics_.jump_forward.Add(drafts, accepted);
  } else if (source == DraftSource::kPrediction) {
    metrics_.prediction.Add(drafts, accepted);
    commit.sequence->request->accepted_prediction_tokens += accepted;
    commit.sequence->request->rejected_prediction_tokens += drafts - accepted;
  } else {
    metrics_.AddDrafts(drafts, accepted);
    if (source != DraftSource::kDrafter) metrics_.prompt_lookup.Add(drafts, accepted);
  }
}

void Speculator::Observe(const std::vector<StepItem>& items, const std::vector<RowStates>& states,
                         const std::vector<SequenceCommit>& commits, double seconds) {
  if (drafter_ != nullptr) TakeStates(items, states, commits);
  int num_rows = 0, num_drafts = 0, num_tokens = 0;
  for (const StepItem& item : items) num_rows += item.num_rows;
  bool is_decode = IsDecode(items);
  for (const SequenceCommit& commit : commits) {
    lookup_.Learn(commit.sequence.get());
    num_drafts += commit.drafts.size();
    num_tokens += 1 + commit.num_accepted;
    DraftSource source = LearnFound(commit.sequence.get());
    Count(source, commit);
    if (source != DraftSource::kDrafter) continue;
    if (shape_.width > 1) policy_.RecordTree(commit.drafts, commit.num_accepted);
    if (is_decode || !commit.drafts.empty()) {
      policy_.Record(source, commit.drafts.length(), commit.num_accepted,
                     &RecordOf(source, commit.sequence.get()));
    }
  }
  num_rows += num_drafts;
  if (num_drafts > 0) AddTime(num_rows, seconds, &metrics_.verify_times);
  if (!is_decode) return;
  int num_sequences = static_cast<int>(items.size());
  policy_.RecordStep(num_sequences, num_rows, num_tokens,
                     {seconds, draft_seconds_, find_seconds_, by_drafter_});
  double with_drafting = seconds + draft_seconds_ + find_seconds_;
  bool has_drafts = num_drafts > 0 || draft_seconds_ > 0;
  double plain = has_drafts ? policy_.PlainSeconds(num_sequences) : seconds;
  if (plain == 0) return;  // not known yet
  for (const SequenceCommit& commit : commits) {
    double own = 1 + commit.num_accepted;
    commit.sequence->request->drafts.Add({0, 0, with_drafting, own * plain});
  }
  double tokens = num_tokens;
  metrics_.all.Add({0, 0, with_drafting, tokens / num_sequences * plain});
}

}  // namespace mlc
