// How many tokens to draft, decided by measurement: how often drafts are accepted, and what a step
// of so many rows takes. Pure: times are told, not taken.
//
// Drafts pay when their rows are cheap beside the tokens that they are expected to yield. What is
// not known yet is estimated in favour of drafting, tried and measured. A ledger of the time lost
// by trying bounds what that may cost: a twentieth of the recent time, and a tenth of a second.
#ifndef MLC_ENGINE_SPECULATION_DRAFT_POLICY_H_
#define MLC_ENGINE_SPECULATION_DRAFT_POLICY_H_

#include <map>
#include <optional>
#include <vector>

#include "engine/sequence.h"

namespace mlc {

// Seconds of a step by its rows: running means of what was measured, which grow old.
class StepTimes {
 public:
  void Add(int rows, double seconds);
  // Measured, and not long ago.
  std::optional<double> Measured(int rows) const;
  // The same, else what the nearest measurements around it suggest; at least that of `base` rows,
  // which must be measured.
  double Estimate(int rows, int base) const;

 private:
  struct Entry {
    double seconds;
    int count;
    int64_t time;  // of the last measurement, in measurements
  };
  std::map<int, Entry> entries_;
  int64_t now_ = 0;
};

// The chances that a draft is accepted when those before it are. The first one's is often lower:
// a text that is being followed tends to be followed on.
struct DraftChances {
  double first, next;
};

struct DraftCandidate {
  DraftChances chances;
  int max_drafts;          // one behind the other
  int rows_per_draft = 1;  // side by side
};

class DraftPolicy {
 public:
  // How many drafts, one behind the other, each of the sequences of a step should have; one row
  // each otherwise.
  // `draft_seconds`: for one more draft of all of them; 0 when they are drafted already.
  std::vector<int> Choose(const std::vector<DraftCandidate>& candidates,
                          double draft_seconds) const;

  DraftChances Chances(const DraftRecord& record) const;
  // What became of a sequence's drafts in a step: how many there were, one behind the other.
  void Record(int num_drafts, int num_accepted, DraftRecord* record);
  // A step that decoded `num_sequences` and yielded `num_tokens` took `seconds`, drafting included.
  // `model_seconds`: without.
  void RecordStep(int num_sequences, int num_rows, int num_tokens, double model_seconds,
                  double seconds);

 private:
  bool MayDraft() const;

  StepTimes times_;
  DraftRecord all_;     // of all sequences
  double lost_s_ = 0;   // by drafting, recently; negative when it won
  double total_s_ = 0;  // of recent steps
};

}  // namespace mlc

#endif  // MLC_ENGINE_SPECULATION_DRAFT_POLICY_H_
