// Speculative decoding for a running engine. It adds drafts to the work items of a step and learns
// from the result of the commit.
//
// Drafts use only rows and pages that the step does not need. So they delay and preempt nobody.
// They never change the generated text (engine/commit), only how fast it comes.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/commit.h"
#include "engine/speculation/draft_policy.h"
#include "engine/speculation/drafter.h"
#include "engine/speculation/spec_metrics.h"
#include "engine/step.h"

namespace mlc {

// The limits for one sequence in one step: the depth, and the size of a whole tree.
constexpr int kMaxDrafts = 15, kMaxTreeDrafts = 63;

struct DraftShape {
  int length = 0;  // depth; 0: as deep as it pays
  int width = 1;   // side by side
  bool is_adaptive() const { return length == 0; }
};

struct DraftLimits {
  int max_rows;       // of one step
  int max_sequences;  // of one step, with branches
  int max_length;     // of one sequence
};

// The hidden states of an item's rows, then of its drafts: [rows, size].
struct RowStates {
  const float* first;
  ptrdiff_t size;
};

class Speculator {
 public:
  // `drafter` may be null. What is known of an answer is drafted first: the text that a grammar
  // forces, if there is a `tokenizer` (the model chooses these tokens too, if it divides the text
  // as the tokenizer does); then the request's prediction.
  Speculator(std::unique_ptr<Drafter> drafter, DraftShape shape,
             const Tokenizer* tokenizer = nullptr);

  // Adds drafts to the items that want logits, as far as rows and pages allow. After an error the
  // drafter is not used again.
  void AddDrafts(const DraftLimits& limits, const KVCache& cache, std::vector<StepItem>* items);
  // Learns from the step of the last AddDrafts call. `states`: of each item, the hidden states of
  // its rows, if it wants them. `seconds` does not include drafting.
  void Observe(const std::vector<StepItem>& items, const std::vector<RowStates>& states,
               const std::vector<SequenceCommit>& commits, double seconds);

  // The drafter's; null after it has failed, or when there is none.
  Drafter* drafter() { return drafter_.get(); }
  const SpecMetrics& metrics() const { return metrics_; }
  // Why drafting has ended stays known.
  void ResetMetrics() {
    SpecMetrics fresh;
    fresh.failure = std::move(metrics_.failure);
    metrics_ = std::move(fresh);
  }

 private:
  struct Request {
    StepItem* item;
    int max_drafts;  // depth
    int width = 1;
    DraftSource source = DraftSource::kDrafter;
  };
  std::vector<Request> FindRequests(const DraftLimits& limits, const KVCache& cache,
                                    std::vector<StepItem>* items) const;
  void ChooseLengths(const DecodeRows& rows, double draft_seconds,
                     std::vector<Request>* requests) const;
  void Draft(const std::vector<Request>& requests);
  // Of drafted trees keeps the likeliest drafts, as many as pay (Eagle-2, arXiv 2406.16858).
  void ChooseDrafts(const DecodeRows& rows, const std::vector<Request>& requests) const;
  // Removes the branches for which there are no rows, sequences or pages.
  static void LimitBranches(const DraftLimits& limits, const KVCache& cache,
                            std::vector<StepItem>* items);
  void TakeStates(const std::vector<StepItem>& items, const std::vector<RowStates>& states,
                  const std::vector<SequenceCommit>& commits);
  // Drafts what is known of the answers. Moves the requests that got drafts out of `requests`.
  std::vector<Request> DraftKnown(bool uses_predictions, std::vector<Request>* requests);

  std::unique_ptr<Drafter> drafter_;  // null after it has failed
  DraftShape shape_;
  const Tokenizer* tokenizer_;
  std::unordered_map<SequenceId, DraftSource> known_;  // what DraftKnown drafted in this step
  DraftPolicy policy_;
  double draft_seconds_ = 0;  // of the current step
  SpecMetrics metrics_;
};

}  // namespace mlc
