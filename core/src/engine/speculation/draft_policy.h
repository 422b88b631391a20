// Decides how many tokens to draft, from two measurements: how often drafts are accepted, and how
// long a step takes by its number of rows. It is pure: callers pass the times to it.
//
// Drafts pay when their rows cost little compared with the tokens that they probably yield. An
// unknown value is estimated in favour of drafting; then it is tried and measured. What was seldom
// measured is taken for a little cheaper than it was, so that one slow step decides nothing.
// Ledgers of the lost time limit the cost of trying.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "engine/drafts.h"
#include "engine/sequence.h"

namespace mlc {

// The seconds of something by its size: running means of measurements, which expire. A measurement
// that differs much from the mean counts as one that differs less.
class StepTimes {
 public:
  void Add(int size, double seconds);
  // The mean, if it was measured not long ago.
  std::optional<double> Measured(int size) const;
  // The same, if it was measured more than once: the first time also waits for memory and code.
  std::optional<double> Sure(int size) const;
  // The mean less what it may be too high after so few measurements.
  std::optional<double> Hopeful(int size) const;
  // That of the nearest size which has one, of two the larger; 0: there is none.
  double Near(int size) const;
  // The hopeful mean, or an estimate in favour of what is not known: half of the way from the next
  // smaller size that was measured to the line through its neighbours. `base_seconds`: of `base`,
  // from which on sizes count. Sizes are tried step by step: twice as far from the base as the
  // largest measured one; behind that they are taken for expensive.
  double Estimate(int size, int base, double base_seconds) const;

 private:
  struct Entry {
    double seconds;
    int count;
    int64_t time;  // when the last measurement was made, counted in measurements
  };
  std::map<int, Entry> entries_;
  int64_t now_ = 0;
};

// The probability that a draft is accepted when all drafts before it were accepted, by its place as
// in DraftRecord.
using DraftChances = std::array<double, kDraftPlaces>;

// What one sequence may get.
struct DraftCandidate {
  // How many tokens each further draft probably yields, never more than the one before it: of a
  // chain each depth (ChainGains), of a tree each draft, the likeliest first.
  std::vector<double> gains;
  int rows_per_draft = 1;
  bool by_drafter = true;  // or found, without a drafter
};

// A step that decodes: a row for each sequence, and a row for each draft that it has already.
struct DecodeRows {
  int sequences, drafts = 0;
  double gain = 0;  // how many tokens these drafts probably yield
};

// The seconds of a step.
struct StepSeconds {
  double model;                      // without drafting
  double drafting = 0, finding = 0;  // the drafter's, and those of drafts without one
  bool by_drafter = true;            // whether a drafter was asked
};

struct DraftChoice {
  std::vector<int> counts;  // of each candidate's drafts
  double rate = 0;          // tokens a second that the step promises; 0: not known
};

class DraftPolicy {
 public:
  // For each candidate, how many of its drafts its sequence should have. `draft_seconds`: the time
  // to draft one more token for all of them; 0 when they are drafted already. `at_once`: the time
  // to draft any number.
  DraftChoice Choose(const DecodeRows& rows, const std::vector<DraftCandidate>& candidates,
                     double draft_seconds, bool at_once = false) const;

  // `record`: of drafts of that source in one sequence.
  DraftChances Chances(DraftSource source, const DraftRecord& record) const;
  // The gains of a chain.
  static std::vector<double> ChainGains(const DraftChances& chances, int max_drafts);
  // The gains of a tree's drafts, by what their drafter takes for their chances.
  std::vector<double> TreeGains(const Drafts& tree) const;
  // Records how many of a sequence's drafts in a step, one after the other, were accepted.
  void Record(DraftSource source, int num_drafts, int num_accepted, DraftRecord* record);
  // Records how many drafts of a tree were accepted.
  void RecordTree(const Drafts& tree, int num_accepted);
  // Records a step that decoded `num_sequences` and yielded `num_tokens`. It ends the step.
  void RecordStep(int num_sequences, int num_rows, int num_tokens, const StepSeconds& seconds);
  // Whether drafts may be looked up: the time of that was small lately, or it paid.
  bool MayLookUp() const { return lost_[kByLooking] <= MayLose(); }
  // What a step without drafts would take now; 0: not known.
  double PlainSeconds(int num_sequences) const;

 private:
  // The ledgers: of steps in which the drafter was asked, of the other steps with drafts, and of
  // the time of finding drafts.
  enum Ledger { kByDrafter, kByFinds, kByLooking, kNumLedgers };
  // In plain steps.
  double MayLose() const;
  void Lose(Ledger ledger, double lost);

  // Of steps without drafts, by sequences, and with drafts, by RowClass.
  StepTimes plain_, drafted_;
  std::array<DraftRecord, kNumDraftSources> all_;  // of all sequences
  DraftRecord::Count
      trees_;  // `tried`: how many drafts should have been accepted, by their chances
  // lost in recent steps, in plain steps; negative: gained
  std::array<double, kNumLedgers> lost_ = {};
  double total_ = 0;  // of recent steps, in plain steps
};

}  // namespace mlc
