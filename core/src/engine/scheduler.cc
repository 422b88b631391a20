#include "engine/scheduler.h"

#include <algorithm>

namespace mlc {
namespace {

class Planner {
 public:
  Planner(const SequenceList& running, const KVCache& cache, const SchedulerLimits& limits)
      : running_(running),
        cache_(cache),
        num_kept_(running.size()),
        free_pages_(cache.num_free_pages()),
        rows_left_(limits.max_rows),
        max_sequences_(static_cast<size_t>(limits.max_sequences)) {}

  Plan Run(const SequenceList& waiting) {
    // Decodes first, so that a long prompt does not hold up the answers beside it.
    for (size_t i = 0; i < num_kept_ && rows_left_ > 0; ++i) {
      if (Uncomputed(*running_[i]) == 1) PlanRunning(i);
    }
    for (size_t i = 0; i < num_kept_ && rows_left_ > 0; ++i) {
      if (Uncomputed(*running_[i]) > 1) PlanRunning(i);
    }
    for (const auto& sequence : waiting) {
      if (!Admit(*sequence)) break;
    }
    return std::move(plan_);
  }

 private:
  static int Uncomputed(const Sequence& sequence) {
    return sequence.num_tokens() - sequence.num_computed;
  }

  void AddItem(const Sequence& sequence, int num_rows, int pages) {
    plan_.items.push_back({sequence.id, num_rows, num_rows == Uncomputed(sequence)});
    item_pages_.push_back(pages);
    rows_left_ -= num_rows;
    free_pages_ -= pages;
  }

  // The most rows, up to `num_rows`, that the free pages hold.
  int RowsThatFit(const Sequence& sequence, int num_rows) const {
    while (num_rows > 0 && cache_.PagesNeeded(sequence.id, num_rows) > free_pages_) {
      num_rows -= std::min(num_rows, cache_.page_size());
    }
    return num_rows;
  }

  // Takes pages from the youngest until the sequence at `index` can go on, or is itself the
  // youngest.
  void PlanRunning(size_t index) {
    const Sequence& sequence = *running_[index];
    int wanted = std::min(Uncomputed(sequence), rows_left_);
    int fit = RowsThatFit(sequence, wanted);
    while (fit == 0 && num_kept_ > index + 1) {
      PreemptYoungest();
      fit = RowsThatFit(sequence, std::min(wanted, cache_.page_size()));
    }
    if (fit > 0) return AddItem(sequence, fit, cache_.PagesNeeded(sequence.id, fit));
    if (index > 0) PreemptYoungest();  // itself: the older ones finish first
  }

  void PreemptYoungest() {
    const Sequence& youngest = *running_[--num_kept_];
    free_pages_ += cache_.PagesFreedBy(youngest.id);
    plan_.preempt.push_back(youngest.id);
    for (size_t i = 0; i < plan_.items.size(); ++i) {
      if (plan_.items[i].sequence == youngest.id) return TakeBackItem(i);
    }
  }

  void TakeBackItem(size_t i) {
    rows_left_ += plan_.items[i].num_rows;
    free_pages_ += item_pages_[i];
    plan_.items.erase(plan_.items.begin() + static_cast<std::ptrdiff_t>(i));
    item_pages_.erase(item_pages_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  // A new sequence starts when the pages for all of its tokens and one more are free, so that it
  // does not push out at once those that came before it.
  bool Admit(const Sequence& sequence) {
    bool has_room = num_kept_ + static_cast<size_t>(plan_.num_admitted) < max_sequences_;
    int pages = (sequence.num_tokens() + cache_.page_size()) / cache_.page_size();
    if (!plan_.preempt.empty() || !has_room || rows_left_ <= 0 || pages > free_pages_) return false;
    ++plan_.num_admitted;
    AddItem(sequence, std::min(Uncomputed(sequence), rows_left_), pages);
    return true;
  }

  const SequenceList& running_;
  const KVCache& cache_;
  size_t num_kept_;  // running_[0 .. num_kept_) are not preempted
  int free_pages_;
  int rows_left_;
  size_t max_sequences_;
  Plan plan_;
  std::vector<int> item_pages_;  // that each item of the plan takes
};

}  // namespace

Plan PlanStep(const SequenceList& running, const SequenceList& waiting, const KVCache& cache,
              const SchedulerLimits& limits) {
  return Planner(running, cache, limits).Run(waiting);
}

}  // namespace mlc
