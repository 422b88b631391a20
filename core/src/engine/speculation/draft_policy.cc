#include "engine/speculation/draft_policy.h"

#include <algorithm>
#include <queue>

namespace mlc {
namespace {

constexpr int64_t kOldAfter = 1000;  // in measurements
constexpr double kNewest = 0.2;      // the least weight of a new measurement in the mean
constexpr double kForget = 0.999;    // factor of the ledger for each step
constexpr double kMayLoseShare = 0.02, kMayLose = 0.03;
constexpr double kFirstGuess = 0.6;   // the probability when nothing is known
constexpr double kGuessWeight = 2;    // weight of kFirstGuess, in drafts
constexpr double kRecentDrafts = 20;  // how many drafts a record remembers
constexpr double kIdle = 0.99;        // factor of a record for each step without drafts
// How many rows are tried before fewer were measured, and what their cost is taken for beyond that:
// a share of the step for each row of it.
constexpr int kFirstRows = 4;
constexpr double kRowShare = 0.1;
constexpr double kLeastGain = 0.02;  // a draft must promise at least so many tokens

using Count = DraftRecord::Count;

void Keep(double share, Count* count) {
  count->tried *= share;
  count->accepted *= share;
}

void Add(int tried, int accepted, Count* count) {
  if (tried == 0) return;
  Keep(std::min(1.0, kRecentDrafts / (count->tried + tried)), count);
  count->tried += tried;
  count->accepted += accepted;
}

double Mean(const Count& count, double guess) {
  return (kGuessWeight * guess + count.accepted) / (kGuessWeight + count.tried);
}

// One more draft for one candidate.
struct Extra {
  double gain;  // expected number of tokens
  size_t candidate;
  int depth;  // the depth of this draft, from 1
  bool operator<(const Extra& other) const { return gain < other.gain; }
};

}  // namespace

void StepTimes::Add(int rows, double seconds) {
  auto [found, is_new] = entries_.emplace(rows, Entry{seconds, 0, 0});
  Entry& entry = found->second;
  if (!is_new && now_ - entry.time > kOldAfter) entry = Entry{seconds, 0, 0};
  ++entry.count;
  // The first step of a size also waits for memory and code.
  if (entry.count == 2 && seconds < entry.seconds) entry.seconds = seconds;
  entry.seconds += (seconds - entry.seconds) * std::max(1.0 / entry.count, kNewest);
  entry.time = ++now_;
}

std::optional<double> StepTimes::Measured(int rows) const {
  auto found = entries_.find(rows);
  if (found == entries_.end() || now_ - found->second.time > kOldAfter) return std::nullopt;
  return found->second.seconds;
}

double StepTimes::Estimate(int rows, int base) const {
  if (std::optional<double> seconds = Measured(rows)) return *seconds;
  double least = entries_.at(base).seconds;
  auto near = entries_.upper_bound(rows);
  while (near != entries_.end() && !Measured(near->first)) ++near;
  if (near == entries_.end()) {  // more rows than were measured
    do --near;
    while (near->first > base && !Measured(near->first));
    if (rows <= std::max(2 * near->first, kFirstRows)) return least;
    if (near->first <= base) return least * (1 + kRowShare * (rows - base) / base);
  }
  double share = static_cast<double>(rows - base) / (near->first - base);
  return std::max(least, least + share * (near->second.seconds - least));
}

bool DraftPolicy::MayDraft() const { return lost_s_ <= kMayLose + kMayLoseShare * total_s_; }

std::vector<int> DraftPolicy::Choose(const DecodeRows& step,
                                     const std::vector<DraftCandidate>& candidates,
                                     double draft_seconds, bool at_once) const {
  std::vector<int> chosen(candidates.size(), 0);
  if (candidates.empty() || !times_.Measured(step.sequences) || !MayDraft()) return chosen;
  std::priority_queue<Extra> extras;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].max_drafts > 0) extras.push({candidates[i].chances.first, i, 1});
  }
  // The drafts that the step has already were chosen, so they are counted as good ones.
  int rows = step.sequences + step.drafts, deepest = 0;
  double tokens = rows, best_rate = tokens / times_.Estimate(rows, step.sequences);
  std::vector<int> tried = chosen;
  while (!extras.empty()) {
    Extra extra = extras.top();
    extras.pop();
    if (extra.gain < kLeastGain) break;
    rows += candidates[extra.candidate].rows_per_draft;
    tokens += extra.gain;
    tried[extra.candidate] = extra.depth;
    deepest = std::max(deepest, extra.depth);
    double drafting = draft_seconds * (at_once ? 1 : deepest);
    double rate = tokens / (times_.Estimate(rows, step.sequences) + drafting);
    if (rate > best_rate) {
      best_rate = rate;
      chosen = tried;
    }
    const DraftCandidate& candidate = candidates[extra.candidate];
    if (extra.depth < candidate.max_drafts) {
      extras.push({extra.gain * candidate.chances.next, extra.candidate, extra.depth + 1});
    }
  }
  return chosen;
}

DraftChances DraftPolicy::Chances(DraftSource source, const DraftRecord& record) const {
  const DraftRecord& all = all_[static_cast<size_t>(source)];
  return {Mean(record.first, Mean(all.first, kFirstGuess)),
          Mean(record.next, Mean(all.next, kFirstGuess))};
}

void DraftPolicy::Record(DraftSource source, int num_drafts, int num_accepted,
                         DraftRecord* record) {
  // The drafts behind the first refused one were not tried.
  int num_tried = std::min(num_drafts, num_accepted + 1);
  int first = std::min(1, num_tried), first_accepted = std::min(1, num_accepted);
  for (DraftRecord* r : {record, &all_[static_cast<size_t>(source)]}) {
    if (num_drafts == 0) {
      Keep(kIdle, &r->first);
      Keep(kIdle, &r->next);
    }
    Add(first, first_accepted, &r->first);
    Add(num_tried - first, num_accepted - first_accepted, &r->next);
  }
}

void DraftPolicy::RecordStep(int num_sequences, int num_rows, int num_tokens, double model_seconds,
                             double seconds) {
  times_.Add(num_rows, model_seconds);
  std::optional<double> plain = times_.Measured(num_sequences);
  bool is_plain = num_rows == num_sequences && seconds <= model_seconds;
  double lost = plain && !is_plain ? seconds - *plain * num_tokens / num_sequences : 0;
  lost_s_ = lost_s_ * kForget + lost;
  total_s_ = total_s_ * kForget + seconds;
  // Time that drafting gained may be lost again, but at most as much as may be lost anyway.
  lost_s_ = std::max(lost_s_, -(kMayLose + kMayLoseShare * total_s_));
}

}  // namespace mlc
