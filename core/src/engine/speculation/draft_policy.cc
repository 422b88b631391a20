#include "engine/speculation/draft_policy.h"

#include <algorithm>
#include <cstdlib>
#include <queue>

namespace mlc {
namespace {

constexpr int64_t kOldAfter = 1000;  // in measurements
constexpr double kNewest = 0.1;      // the least weight of a new measurement in the mean
constexpr double kMostAway = 1.4;    // times the mean, as what a measurement counts at most
constexpr double kDoubt = 0.2;       // the share of the first measurement that may be too much
constexpr double kForget = 0.999;    // factor of the ledgers for each step
constexpr double kMayLoseShare = 0.005, kMayLoseSteps = 3;
constexpr double kFirstGuess = 0.6;  // the probability when nothing is known
constexpr double kGuessWeight = 4;   // weight of kFirstGuess, in drafts
constexpr double kAllWeight = 20;    // weight of all sequences beside one, in drafts
// Factors of records for each step: half of a sequence's is left after 40, of all sequences' after
// 2000.
constexpr double kKeep = 0.983, kKeepAll = 0.99965;
// How many more rows than sequences are tried at first, and what a row beyond the tried ones is
// taken for: a share of the time that a plain step takes for a row.
constexpr int kFirstRows = 3;
constexpr double kRowShare = 0.5;
constexpr double kOptimism = 0.5;    // the share of the way to the line that is believed
constexpr double kLeastGain = 0.02;  // a draft must promise at least so many tokens

using Count = DraftRecord::Count;

void Keep(double share, Count* count) {
  count->tried *= share;
  count->accepted *= share;
}

void Keep(double share, DraftRecord* record) {
  for (Count& place : record->places) Keep(share, &place);
}

void Add(int num_tried, int num_accepted, DraftRecord* record) {
  for (int i = 0; i < num_tried; ++i) {
    Count& place = record->places[std::min(static_cast<size_t>(i), kDraftPlaces - 1)];
    place.tried += 1;
    if (i < num_accepted) place.accepted += 1;
  }
}

double Mean(const Count& count, double guess, double weight) {
  return (weight * guess + count.accepted) / (weight + count.tried);
}

double Bounded(double ratio) { return std::clamp(ratio, 1 / kMostAway, kMostAway); }

// Steps of as many rows cost about the same.
int RowClass(int rows) {
  int size = 1;
  while (rows > 8 * size) size *= 2;
  return (rows + size - 1) / size * size;
}

// One more draft for one candidate.
struct Extra {
  double gain;  // expected number of tokens
  size_t candidate;
  int depth;  // how many drafts the candidate has then
  bool operator<(const Extra& other) const { return gain < other.gain; }
};

}  // namespace

void StepTimes::Add(int size, double seconds) {
  auto [found, is_new] = entries_.emplace(size, Entry{seconds, 0, 0});
  Entry& entry = found->second;
  if (!is_new && now_ - entry.time > kOldAfter) entry = Entry{seconds, 0, 0};
  ++entry.count;
  if (entry.count == 2 && seconds < entry.seconds) entry.seconds = seconds;
  double known = entry.seconds * Bounded(seconds / entry.seconds);
  entry.seconds += (known - entry.seconds) * std::max(1.0 / entry.count, kNewest);
  entry.time = ++now_;
}

std::optional<double> StepTimes::Measured(int size) const {
  auto found = entries_.find(size);
  if (found == entries_.end() || now_ - found->second.time > kOldAfter) return std::nullopt;
  return found->second.seconds;
}

std::optional<double> StepTimes::Sure(int size) const {
  std::optional<double> seconds = Measured(size);
  return seconds && entries_.at(size).count > 1 ? seconds : std::nullopt;
}

std::optional<double> StepTimes::Hopeful(int size) const {
  std::optional<double> seconds = Measured(size);
  if (seconds) *seconds *= 1 - kDoubt / entries_.at(size).count;
  return seconds;
}

double StepTimes::Near(int size) const {
  std::optional<double> best;
  int distance = 0;
  for (const auto& [other, entry] : entries_) {
    std::optional<double> seconds = Sure(other);
    if (!seconds || (best && std::abs(other - size) > distance)) continue;
    best = seconds, distance = std::abs(other - size);
  }
  return best.value_or(0);
}

double StepTimes::Estimate(int size, int base, double base_seconds) const {
  int largest = base;
  double below = base_seconds, slope = 0;  // of the next smaller size
  for (auto at = entries_.upper_bound(base); at != entries_.end(); ++at) {
    std::optional<double> seconds = Hopeful(at->first);
    if (!seconds) continue;
    double known = *seconds;
    slope = std::max(0.0, (known - below) / (at->first - largest));
    if (at->first == size) return known;
    if (at->first > size) return below + kOptimism * slope * (size - largest);
    below = known, largest = at->first;
  }
  int near = base + std::max(2 * (largest - base), kFirstRows);
  double least = below + slope * (size - largest);
  return least + base_seconds * kRowShare * std::max(0, size - near) / base;
}

double DraftPolicy::MayLose() const { return kMayLoseSteps + kMayLoseShare * total_; }

DraftChoice DraftPolicy::Choose(const DecodeRows& step,
                                const std::vector<DraftCandidate>& candidates, double draft_seconds,
                                bool at_once) const {
  DraftChoice best{std::vector<int>(candidates.size(), 0)};
  std::optional<double> plain = plain_.Hopeful(step.sequences);
  if (!plain_.Sure(step.sequences)) return best;
  auto may_lose = [this](const DraftCandidate& candidate) {
    return MayLose() - lost_[candidate.by_drafter ? kByDrafter : kByFinds];
  };
  std::priority_queue<Extra> extras;
  for (size_t i = 0; i < candidates.size(); ++i) {
    bool is_closed = candidates[i].gains.empty() || may_lose(candidates[i]) < 0;
    if (!is_closed) extras.push({candidates[i].gains[0], i, 1});
  }
  int rows = step.sequences + step.drafts, deepest = 0;
  auto seconds = [&] {
    if (rows == step.sequences) return *plain;
    return drafted_.Estimate(RowClass(rows), step.sequences, *plain);
  };
  double tokens = step.sequences + step.gain;
  best.rate = tokens / seconds();
  std::vector<int> tried = best.counts;
  while (!extras.empty()) {
    Extra extra = extras.top();
    extras.pop();
    if (extra.gain < kLeastGain) break;
    rows += candidates[extra.candidate].rows_per_draft;
    tokens += extra.gain;
    tried[extra.candidate] = extra.depth;
    deepest = std::max(deepest, extra.depth);
    double drafting = draft_seconds * (at_once ? 1 : deepest);
    double rate = tokens / (seconds() + drafting);
    // What a size that was not measured loses if each of its rows costs as much as a plain one.
    double most_lost = (rows - tokens) / step.sequences + drafting / *plain;
    bool may_try = most_lost <= may_lose(candidates[extra.candidate]) ||
                   drafted_.Measured(RowClass(rows)).has_value();
    if (rate > best.rate && may_try) best = {tried, rate};
    const std::vector<double>& gains = candidates[extra.candidate].gains;
    auto next = static_cast<size_t>(extra.depth);
    if (next < gains.size()) extras.push({gains[next], extra.candidate, extra.depth + 1});
  }
  return best;
}

DraftChances DraftPolicy::Chances(DraftSource source, const DraftRecord& record) const {
  const DraftRecord& all = all_[static_cast<size_t>(source)];
  DraftChances chances;
  double before = kFirstGuess;
  for (size_t i = 0; i < kDraftPlaces; ++i) {
    before = Mean(all.places[i], before, kGuessWeight);
    chances[i] = Mean(record.places[i], before, kAllWeight);
  }
  return chances;
}

std::vector<double> DraftPolicy::ChainGains(const DraftChances& chances, int max_drafts) {
  std::vector<double> gains;
  double gain = 1;
  while (static_cast<int>(gains.size()) < max_drafts) {
    gain *= chances[std::min(gains.size(), kDraftPlaces - 1)];
    gains.push_back(gain);
  }
  return gains;
}

std::vector<double> DraftPolicy::TreeGains(const Drafts& tree) const {
  double trust = (kGuessWeight + trees_.accepted) / (kGuessWeight + trees_.tried);
  std::vector<double> gains;
  for (int draft = 0; draft < tree.size(); ++draft) {
    gains.push_back(std::min(1.0, trust * tree.chance(draft)));
  }
  std::sort(gains.rbegin(), gains.rend());
  return gains;
}

void DraftPolicy::RecordTree(const Drafts& tree, int num_accepted) {
  for (int draft = 0; draft < tree.size(); ++draft) trees_.tried += tree.chance(draft);
  trees_.accepted += num_accepted;
}

void DraftPolicy::Record(DraftSource source, int num_drafts, int num_accepted,
                         DraftRecord* record) {
  // The drafts behind the first refused one were not tried.
  int num_tried = std::min(num_drafts, num_accepted + 1);
  Keep(kKeep, record);
  Add(num_tried, num_accepted, record);
  Add(num_tried, num_accepted, &all_[static_cast<size_t>(source)]);
}

void DraftPolicy::Lose(Ledger ledger, double lost) {
  // What drafting gained may be lost again, but at most as much as may be lost anyway. One dear
  // trial does not end drafting for long.
  lost_[ledger] = std::clamp(lost_[ledger] * kForget + lost, -MayLose(), MayLose() + 1);
}

void DraftPolicy::RecordStep(int num_sequences, int num_rows, int num_tokens,
                             const StepSeconds& seconds) {
  for (DraftRecord& record : all_) Keep(kKeepAll, &record);
  Keep(kKeep, &trees_);
  bool is_plain = num_rows == num_sequences;
  if (is_plain) {
    plain_.Add(num_sequences, seconds.model);
  } else {
    drafted_.Add(RowClass(num_rows), seconds.model);
  }
  double plain = PlainSeconds(num_sequences);
  if (plain == 0) return;
  double all = (seconds.model + seconds.drafting) / plain, looking = seconds.finding / plain;
  bool has_drafted = !is_plain || seconds.drafting > 0;
  double lost = has_drafted ? all - static_cast<double>(num_tokens) / num_sequences : 0;
  total_ = total_ * kForget + all + looking;
  Lose(kByDrafter, seconds.by_drafter ? lost : 0);
  Lose(kByFinds, seconds.by_drafter ? 0 : lost);
  Lose(kByLooking, looking + (seconds.by_drafter ? 0 : std::min(0.0, lost)));
}

double DraftPolicy::PlainSeconds(int num_sequences) const {
  return plain_.Measured(num_sequences).value_or(0);
}

}  // namespace mlc
