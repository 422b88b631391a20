// Speculative decoding beside a running engine: gives the work items of a step their drafts and
// learns from what the commit made of them.
//
// Drafts take rows and pages that the step leaves over, so that they neither delay nor preempt
// anybody; what they yield never depends on them (engine/commit), only how soon.
#ifndef MLC_ENGINE_SPECULATION_SPECULATOR_H_
#define MLC_ENGINE_SPECULATION_SPECULATOR_H_

#include <memory>
#include <unordered_set>
#include <vector>

#include "engine/commit.h"
#include "engine/speculation/draft_policy.h"
#include "engine/speculation/drafter.h"
#include "engine/speculation/spec_metrics.h"
#include "engine/step.h"

namespace mlc {

// Of one sequence in one step: one behind the other, and in all where they branch.
constexpr int kMaxDrafts = 15, kMaxTreeDrafts = 63;

struct DraftShape {
  int length = 0;  // one behind the other; 0: as many as pay
  int width = 1;   // side by side
};

struct DraftLimits {
  int max_rows;       // of a step
  int max_sequences;  // of a step, branches included
  int max_length;     // of a sequence
};

class Speculator {
 public:
  // `drafter`: null when there is none. With `tokenizer` (else null) text that a grammar forces is
  // drafted first of all: it is what the model chooses, where it cuts it into tokens as the
  // tokenizer does.
  Speculator(std::unique_ptr<Drafter> drafter, DraftShape shape,
             const Tokenizer* tokenizer = nullptr);

  // Adds drafts to the items that want logits, as far as rows and pages reach. A drafter that fails
  // drafts no more.
  void AddDrafts(const DraftLimits& limits, const KVCache& cache, std::vector<StepItem>* items);
  // What came of the step for which AddDrafts was called last; `seconds` without drafting.
  void Observe(const std::vector<StepItem>& items, const std::vector<SequenceCommit>& commits,
               double seconds);

  // Forgets what the drafter keeps of sequences.
  void Clear() {
    if (drafter_ != nullptr) drafter_->Clear();
  }
  const SpecMetrics& metrics() const { return metrics_; }
  void ResetMetrics() { metrics_ = SpecMetrics{{}, {}, {}, {}, metrics_.failure, {}, {}}; }

 private:
  struct Request {
    StepItem* item;
    int max_drafts;  // one behind the other
    int width = 1;
  };
  std::vector<Request> FindRequests(const DraftLimits& limits, const KVCache& cache,
                                    std::vector<StepItem>* items) const;
  using RecordOf = DraftRecord Sequence::*;
  void ChooseLengths(RecordOf record, double draft_seconds, std::vector<Request>* requests) const;
  void Draft(const std::vector<Request>& requests);
  // Leaves of the items' branches what rows, sequences and pages reach for.
  static void LimitBranches(const DraftLimits& limits, const KVCache& cache,
                            std::vector<StepItem>* items);
  // Drafts forced text and takes those that have some out of `requests`.
  void Jump(bool is_decode, std::vector<Request>* requests);

  std::unique_ptr<Drafter> drafter_;  // null once it has failed
  DraftShape shape_;
  const Tokenizer* tokenizer_;
  std::unordered_set<SequenceId> jumping_;  // have forced drafts in the step at hand
  DraftPolicy policy_;
  double draft_seconds_ = 0;  // of the step at hand
  SpecMetrics metrics_;
};

}  // namespace mlc

#endif  // MLC_ENGINE_SPECULATION_SPECULATOR_H_
