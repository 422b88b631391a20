#include "engine/scheduler.h"

#include <algorithm>
#include <climits>
#include <map>

namespace mlc {
namespace {

// Rows of a tile of prompt kernels; smaller tiles divide it. Chunks of fewer rows than
// kManyRows are not rounded to it, since that would make them unequal.
constexpr int kRowTile = 64, kManyRows = 2 * kRowTile;

Clock::time_point RankOf(const RequestState& state) {
  const Request& request = state.request;
  Clock::time_point came = state.turn_ended ? *state.turn_ended + kTurnWorth : request.received;
  return came - request.priority * kPriorityWorth;
}

// The rows that a step has left.
struct RowsLeft {
  int all;                // of the step
  int prompts = INT_MAX;  // of those, for prompts
  int usable() const { return std::min(all, prompts); }
  // Decodes take none of those for prompts.
  void Add(int rows, bool of_prompt) {
    all += rows;
    if (of_prompt) prompts += rows;
  }
};

class Planner {
 public:
  Planner(const SequenceList& running, const SequenceList& waiting, const KVCache& cache,
          const SchedulerLimits& limits)
      : running_(running),
        waiting_(waiting),
        cache_(cache),
        num_kept_(running.size()),
        free_pages_(cache.available_pages()),
        rows_left_{limits.max_rows},
        spare_rows_(std::max(0, limits.full_rows - limits.max_rows)),
        prompt_rows_(limits.prompt_rows),
        max_sequences_(static_cast<size_t>(limits.max_sequences)),
        whole_texts_(limits.whole_texts) {}

  // Decodes come first, so that a long prompt does not delay running answers.
  Plan Hybrid() {
    PlanDecodes();
    PlanPrompts();
    return std::move(plan_);
  }

  // Prompts come first, until decodes have waited long enough.
  Plan Chunked(bool decodes_first) {
    bool has_decodes = std::any_of(running_.begin(), running_.end(),
                                   [](const auto& s) { return s->num_uncomputed() == 1; });
    if (!has_decodes || !decodes_first) PlanPrompts();
    plan_.holds_up_decodes = has_decodes && !plan_.items.empty();
    if (plan_.items.empty()) PlanDecodes();
    return std::move(plan_);
  }

 private:
  void PlanDecodes() {
    for (size_t i = 0; i < num_kept_ && rows_left_.all > 0; ++i) {
      if (running_[i]->num_uncomputed() == 1) PlanRunning(i);
    }
  }

  // And answers with several rows, which take none of the rows for prompts.
  void PlanPrompts() {
    rows_left_.prompts = HasDecodes(running_) ? prompt_rows_.beside_decodes : prompt_rows_.alone;
    SetRowsAside();
    for (size_t i = 0; i < num_kept_ && rows_left_.all > 0; ++i) {
      bool has_rows = rows_left_.usable() > 0 || running_[i]->decodes();
      if (running_[i]->num_uncomputed() > 1 && has_rows) PlanRunning(i);
    }
    for (const auto& sequence : waiting_) {
      if (!Admit(*sequence)) break;
    }
  }

  // If the first prompt needs more rows than there are, much shorter ones behind it do not wait for
  // it, nor more urgent ones that begin: they take up to half of the rows.
  void SetRowsAside() {
    size_t at = 0;
    while (at < num_kept_ && running_[at]->decodes()) ++at;
    int rows = rows_left_.usable(), wanted = 0;
    if (whole_texts_ || at == num_kept_ || running_[at]->num_uncomputed() <= rows) return;
    long_prompt_ = running_[at].get();
    PageCounts free_pages =
        free_pages_ - cache_.PagesNeeded(long_prompt_->id, long_prompt_->num_uncomputed());
    while (++at < num_kept_) {
      const Sequence& next = *running_[at];
      if (!next.decodes()) wanted += RowsAhead(next, next.num_computed);
    }
    for (const auto& next : waiting_) {
      PageCounts pages = PagesToAdmit(*next);
      bool has_room = at++ < max_sequences_ && pages.FitIn(free_pages);
      if (!has_room || wanted >= rows / 2) break;
      if (IsReadByOther(*next)) break;
      free_pages -= pages;
      wanted += RowsAhead(*next, CachedLength(*next));
    }
    rows_aside_ = std::min(rows / 2, wanted);
  }

  // How many of the rows that are set aside a sequence wants that has `num_computed` tokens.
  int RowsAhead(const Sequence& sequence, int num_computed) const {
    constexpr int kShorter = 4;  // times
    if (long_prompt_ == nullptr || &sequence == long_prompt_) return 0;
    int rows = Whole(sequence, num_computed, sequence.num_tokens() - num_computed);
    bool is_short = rows <= long_prompt_->num_uncomputed() / kShorter &&
                    PriorityOf(sequence) >= PriorityOf(*long_prompt_);
    return is_short || RanksBefore(sequence, *long_prompt_) ? rows : 0;
  }

  // The rows that it can take.
  int RowsFor(const Sequence& sequence, int num_computed) const {
    if (sequence.decodes()) return rows_left_.all;
    bool goes_ahead = rows_aside_ == 0 || RowsAhead(sequence, num_computed) > 0;
    return rows_left_.usable() - (goes_ahead ? 0 : rows_aside_);
  }

  // Whether a running prompt before it is reading what it would read next. It waits then, and finds
  // that in the prefix cache.
  bool IsReadByOther(const Sequence& sequence) {
    if (!cache_.options().keep_prefixes || cache_.has_states()) return false;
    const std::vector<int32_t>& own = sequence.reusable_tokens();
    int end = 0;  // of its first page that it cannot find yet
    for (size_t i = 0; i < num_kept_; ++i) {
      const Sequence& other = *running_[i];
      if (other.decodes() || !RanksBefore(other, sequence)) continue;
      if (other.request->request.adapter != sequence.request->request.adapter) continue;
      if (end == 0) end = (CachedLength(sequence) / cache_.page_size() + 1) * cache_.page_size();
      const std::vector<int32_t>& tokens = other.reusable_tokens();
      bool is_reading = other.num_computed < end && end < static_cast<int>(tokens.size());
      if (!is_reading || end >= static_cast<int>(own.size())) continue;
      if (std::equal(own.begin(), own.begin() + end, tokens.begin())) return true;
    }
    return false;
  }

  PageCounts PagesToAdmit(const Sequence& sequence) const {
    return cache_.PagesToHold(sequence.num_tokens() + (sequence.generates() ? 1 : 0));
  }

  // Searched for once in a plan: it takes a while for a long prompt.
  int CachedLength(const Sequence& sequence) {
    auto [at, is_new] = cached_lengths_.try_emplace(sequence.id, 0);
    if (is_new) {
      at->second =
          cache_.CachedLength(sequence.request->request.adapter, sequence.reusable_tokens());
    }
    return at->second;
  }

  void AddItem(const Sequence& sequence, int num_computed, int num_rows, const PageCounts& pages) {
    rows_aside_ = std::max(0, rows_aside_ - RowsAhead(sequence, num_computed));
    plan_.items.push_back({sequence.id, num_rows});
    item_pages_.push_back(pages);
    rows_left_.Add(-num_rows, !sequence.decodes());
    free_pages_ -= pages;
  }

  // Removes whole pages first. Then it removes rows one by one, since some may fit into a page that
  // is partly filled.
  int StepDown(int num_rows) const {
    return num_rows > cache_.page_size() ? cache_.page_size() : 1;
  }

  // Of `num_rows` rows of the sequence from `from` on, how many a step can compute.
  static int Whole(const Sequence& sequence, int from, int num_rows) {
    return sequence.request->request.prompt.NumStepRows(from, num_rows);
  }

  // The rows that the sequence can take from `from` on: as many as there are left, an equal part of
  // a prompt that needs several steps, or the rows of one picture or of one text of an encoder.
  int RowsWanted(const Sequence& sequence, int from) const {
    int uncomputed = sequence.num_tokens() - from;
    bool is_alone = whole_texts_ && plan_.items.empty();
    if (is_alone && uncomputed <= rows_left_.all + spare_rows_) return uncomputed;
    int rows = uncomputed > RowsFor(sequence, from) ? EqualRows(sequence, from, uncomputed)
                                                    : Whole(sequence, from, uncomputed);
    const Prompt::Span* span = sequence.request->request.prompt.SpanAt(from);
    bool is_whole = span != nullptr && span->rows != nullptr && span->rows->see_each_other();
    if (rows > 0 || !is_whole || from != span->begin) return rows;
    return span->size <= rows_left_.all + spare_rows_ ? Whole(sequence, from, span->size) : 0;
  }

  // A prompt that is longer than a step takes no more steps than with full ones, but its last step
  // is not a rest: a step of few rows reads the weights as one of many does. Its steps end at the
  // ends of pages, where recurrent states are kept.
  int EqualRows(const Sequence& sequence, int from, int uncomputed) const {
    int rows_left = RowsFor(sequence, from);
    if (rows_left <= 0) return 0;
    auto up = [](int count, int unit) { return (count + unit - 1) / unit; };
    int num_steps = up(uncomputed, rows_left), equal = up(uncomputed, num_steps);
    int page = cache_.page_size(), in_page = from % page;
    int unit = equal < kManyRows ? page : up(kRowTile, page) * page;
    equal = up(equal + in_page, unit) * unit - in_page;
    int last_end = (from + rows_left) / page * page;  // of a page
    int rows = Whole(sequence, from, std::clamp(last_end - from, 0, equal));
    // So many rows may be missing then, or before a picture that would be cut, that there would be
    // one step more.
    bool is_enough = uncomputed - rows <= (num_steps - 1) * rows_left;
    return is_enough ? rows : Whole(sequence, from, rows_left);
  }

  static bool Awaits(const Sequence& sequence, int from) {
    const Prompt::Span* span = sequence.request->request.prompt.SpanAt(from);
    return span != nullptr && span->rows != nullptr && span->rows->awaited() != nullptr;
  }

  // The number of rows, at most `num_rows`, for which there are free pages.
  int RowsThatFit(const Sequence& sequence, int num_rows) const {
    while (num_rows > 0 && !cache_.PagesNeeded(sequence.id, num_rows).FitIn(free_pages_)) {
      num_rows = Whole(sequence, sequence.num_computed, num_rows - StepDown(num_rows));
    }
    return num_rows;
  }

  // Preempts the sequences that are last in rank until the sequence at `index` can go on, or until
  // it is itself the last one.
  void PlanRunning(size_t index) {
    const Sequence& sequence = *running_[index];
    int wanted = RowsWanted(sequence, sequence.num_computed);
    if (wanted == 0) return;  // its rows await values, or the next step has more room for them
    int fit = RowsThatFit(sequence, wanted);
    int least = Whole(sequence, sequence.num_computed, std::min(wanted, cache_.page_size()));
    if (least == 0) least = wanted;
    while (fit == 0 && num_kept_ > index + 1) {
      PreemptLast();
      fit = RowsThatFit(sequence, least);
    }
    if (fit > 0) {
      return AddItem(sequence, sequence.num_computed, fit, cache_.PagesNeeded(sequence.id, fit));
    }
    if (index > 0) PreemptLast();  // it preempts itself: the sequences before it finish first
  }

  // The pages and rows that the plan gives to one sequence.
  struct Share {
    size_t item;  // index of its item; the number of items if it has none
    int rows;
    PageCounts pages;
  };
  Share ShareOf(SequenceId id) const {
    for (size_t i = 0; i < plan_.items.size(); ++i) {
      if (plan_.items[i].sequence == id) return {i, plan_.items[i].num_rows, item_pages_[i]};
    }
    return {plan_.items.size(), 0, {}};
  }

  void PreemptLast() {
    const Sequence& last = *running_[--num_kept_];
    Share share = ShareOf(last.id);
    free_pages_ += cache_.PagesFreedBy(last.id) + share.pages;
    rows_left_.Add(share.rows, !last.decodes());
    plan_.preempt.push_back(last.id);
    if (share.item == plan_.items.size()) return;
    plan_.items.erase(plan_.items.begin() + static_cast<std::ptrdiff_t>(share.item));
    item_pages_.erase(item_pages_.begin() + static_cast<std::ptrdiff_t>(share.item));
  }

  size_t NumRunning() const { return num_kept_ + static_cast<size_t>(plan_.num_admitted); }

  // A new sequence starts only if there are pages for all of its tokens and one more. So it does
  // not immediately push out sequences that came before it. Pages that it will share count as its
  // own, even if they are in use already. So a plan never asks for more pages than there are.
  bool Admit(const Sequence& sequence) {
    PageCounts pages = PagesToAdmit(sequence);
    bool overtakes = num_kept_ == running_.size() || RanksBefore(sequence, *running_[num_kept_]);
    if (!overtakes || IsReadByOther(sequence) || !MakeRoom(sequence, pages)) return false;
    int cached = CachedLength(sequence);
    int wanted = sequence.num_tokens() - cached, rows = RowsWanted(sequence, cached);
    bool lets_ahead = RowsFor(sequence, cached) <= 0;  // shorter prompts behind it
    bool awaits = rows == 0 && (lets_ahead || Awaits(sequence, cached));
    // a sliding window may need more pages
    while (rows > 0 && !cache_.PagesToStart(cached, rows).FitIn(free_pages_)) {
      rows = Whole(sequence, cached, rows - StepDown(rows));
    }
    if (rows == 0 ? !awaits : whole_texts_ && rows < wanted) return false;
    ++plan_.num_admitted;
    if (awaits) free_pages_ -= pages;
    if (awaits) return true;
    AddItem(sequence, cached, rows, Larger(pages, cache_.PagesToStart(cached, rows)));
    return true;
  }

  // Preempts running sequences that give way to this one, if that makes enough room for it.
  bool MakeRoom(const Sequence& sequence, const PageCounts& pages) {
    size_t num_victims = 0;
    PageCounts free_pages = free_pages_;
    RowsLeft rows_left = rows_left_;
    while (NumRunning() - num_victims >= max_sequences_ || !pages.FitIn(free_pages) ||
           rows_left.usable() <= 0) {
      if (num_victims == num_kept_) return false;
      const Sequence& victim = *running_[num_kept_ - 1 - num_victims];
      if (!GivesWay(victim, sequence)) return false;
      Share share = ShareOf(victim.id);
      free_pages += cache_.PagesFreedBy(victim.id) + share.pages;
      rows_left.Add(share.rows, !victim.decodes());
      ++num_victims;
    }
    for (; num_victims > 0; --num_victims) PreemptLast();
    return true;
  }

  static int PriorityOf(const Sequence& sequence) { return sequence.request->request.priority; }

  static bool GivesWay(const Sequence& running, const Sequence& waiting) {
    bool may = running.request->turn_ended.has_value() || PriorityOf(waiting) > PriorityOf(running);
    return may && RanksBefore(waiting, running);
  }

  const SequenceList &running_, &waiting_;
  const KVCache& cache_;
  size_t num_kept_;  // running_[0 .. num_kept_) are not preempted
  PageCounts free_pages_;
  RowsLeft rows_left_;
  const int spare_rows_;
  const PromptRows prompt_rows_;
  const Sequence* long_prompt_ = nullptr;  // that others may go ahead of
  int rows_aside_ = 0;                     // for those, of the rows that are left
  std::map<SequenceId, int> cached_lengths_;
  size_t max_sequences_;
  bool whole_texts_;
  Plan plan_;
  std::vector<PageCounts> item_pages_;  // the pages that each item of the plan takes
};

}  // namespace

bool RanksBefore(const Sequence& a, const Sequence& b) {
  Clock::time_point rank_a = RankOf(*a.request), rank_b = RankOf(*b.request);
  return rank_a < rank_b || (rank_a == rank_b && a.id < b.id);
}

bool HasDecodes(const SequenceList& running) {
  return std::any_of(running.begin(), running.end(),
                     [](const auto& sequence) { return sequence->decodes(); });
}

bool HadItsTurn(const Sequence& sequence) {
  int num_tokens = sequence.num_tokens();
  int later = sequence.request->turn_ended ? kLaterTurnTokens : kTurnTokens;
  return num_tokens - sequence.turn_begin >= std::max(later, num_tokens / 4);
}

void EndTurns(Clock::time_point now, SequenceList* running, SequenceList* waiting) {
  bool any = false;
  for (const auto& sequence : *running) {
    auto is_other = [&](const auto& other) { return other->request != sequence->request; };
    if (!HadItsTurn(*sequence) || std::none_of(waiting->begin(), waiting->end(), is_other))
      continue;
    sequence->request->turn_ended = now;
    sequence->turn_begin = sequence->num_tokens();
    any = true;
  }
  if (!any) return;
  for (SequenceList* list : {running, waiting}) {
    std::sort(list->begin(), list->end(),
              [](const auto& a, const auto& b) { return RanksBefore(*a, *b); });
  }
}

void InsertByRank(std::shared_ptr<Sequence> sequence, SequenceList* list) {
  auto at = list->end();
  while (at != list->begin() && RanksBefore(*sequence, **(at - 1))) --at;
  list->insert(at, std::move(sequence));
}

Plan PlanStep(const SequenceList& running, const SequenceList& waiting, const KVCache& cache,
              const SchedulerLimits& limits, int prefill_streak) {
  Planner planner(running, waiting, cache, limits);
  if (limits.prefill_mode == PrefillMode::kHybrid) return planner.Hybrid();
  return planner.Chunked(/*decodes_first=*/prefill_streak >= limits.max_prefill_streak);
}

}  // namespace mlc
