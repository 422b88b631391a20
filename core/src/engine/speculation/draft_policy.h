// Decides how many tokens to draft, from two measurements: how often drafts are accepted, and how
// long a step takes by its number of rows. It is pure: callers pass the times to it.
//
// Drafts pay when their rows cost little compared with the tokens that they probably yield. An
// unknown value is estimated in favour of drafting; then it is tried and measured. A ledger of the
// lost time limits the cost of trying to 2 % of the recent time plus 30 ms.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "engine/sequence.h"

namespace mlc {

// The seconds of a step by its number of rows: running means of measurements, which expire.
class StepTimes {
 public:
  void Add(int rows, double seconds);
  // The mean, if it was measured not long ago.
  std::optional<double> Measured(int rows) const;
  // The same; if there is none, an estimate on the line from `base` rows, which must be measured,
  // to the next larger measured number. Up to twice the largest one it is the time of `base` rows,
  // so that more rows are tried, but not all at once; behind that, on the line to the largest one.
  double Estimate(int rows, int base) const;

 private:
  struct Entry {
    double seconds;
    int count;
    int64_t time;  // when the last measurement was made, counted in measurements
  };
  std::map<int, Entry> entries_;
  int64_t now_ = 0;
};

// The probability that a draft is accepted when all drafts before it were accepted. It is often
// lower for the first draft: once the text follows the drafts, it tends to go on doing so.
struct DraftChances {
  double first, next;
};

struct DraftCandidate {
  DraftChances chances;
  int max_drafts;          // depth
  int rows_per_draft = 1;  // width
};

// A step that decodes: a row for each sequence, and a row for each draft that it has already.
struct DecodeRows {
  int sequences, drafts = 0;
};

class DraftPolicy {
 public:
  // For each candidate, how many drafts its sequence should have, one after the other.
  // `draft_seconds`: the time to draft one more token for all of them; 0 when they are drafted
  // already. `at_once`: the time to draft any number.
  std::vector<int> Choose(const DecodeRows& rows, const std::vector<DraftCandidate>& candidates,
                          double draft_seconds, bool at_once = false) const;

  // `record`: of drafts of that source in one sequence.
  DraftChances Chances(DraftSource source, const DraftRecord& record) const;
  // Records how many of a sequence's drafts in a step, one after the other, were accepted.
  void Record(DraftSource source, int num_drafts, int num_accepted, DraftRecord* record);
  // Records a step that decoded `num_sequences` and yielded `num_tokens`. `seconds` is the time
  // with drafting, `model_seconds` the time without it.
  void RecordStep(int num_sequences, int num_rows, int num_tokens, double model_seconds,
                  double seconds);

 private:
  bool MayDraft() const;

  StepTimes times_;
  std::array<DraftRecord, kNumDraftSources> all_;  // of all sequences
  double lost_s_ = 0;   // lost by drafting in recent steps; negative: gained
  double total_s_ = 0;  // of recent steps
};

}  // namespace mlc
