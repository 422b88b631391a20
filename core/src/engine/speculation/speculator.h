// Speculative decoding for a running engine. It adds drafts to the work items of a step and learns
// from the result of the commit.
//
// Drafts use only rows and pages that the step does not need. So they delay and preempt nobody.
// They never change the generated text (engine/commit), only how fast it comes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/commit.h"
#include "engine/speculation/draft_policy.h"
#include "engine/speculation/drafter.h"
#include "engine/speculation/prompt_lookup.h"
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
  // `drafter` may be null. Drafts that take no time are found first, in this order: the text that a
  // grammar forces, if there is a `tokenizer` (the model chooses these tokens too, if it divides
  // the text as the tokenizer does); the request's prediction; what `lookup` finds. Where both
  // these and the drafter's are possible, the better ones are checked, by what was accepted of each
  // kind. `now` tells the time.
  Speculator(std::unique_ptr<Drafter> drafter, DraftShape shape, Lookup lookup,
             const Tokenizer* tokenizer, std::function<Clock::time_point()> now = Clock::now);

  // Adds drafts to the items that want logits, as far as rows and pages allow. After an error the
  // drafter is not used again.
  void AddDrafts(const DraftLimits& limits, const KVCache& cache, std::vector<StepItem>* items);
  // Learns from the step of the last AddDrafts call. `states`: of each item, the hidden states of
  // its rows, if it wants them. `seconds` does not include drafting.
  void Observe(const std::vector<StepItem>& items, const std::vector<RowStates>& states,
               const std::vector<SequenceCommit>& commits, double seconds);

  // The drafter's; null after it has failed, or when there is none.
  Drafter* drafter() { return drafter_.get(); }
  // Frees the memory that drafts keep for sequences.
  void Clear();
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
    int most;        // the depth for which there is room
    bool can_draft;  // whether the drafter may have drafts for it
    int max_drafts;  // depth
    int width = 1;
    DraftSource source = DraftSource::kDrafter;
  };
  // What the sequences get in a step that decodes.
  struct Plan {
    std::vector<Request> requests;
    DecodeRows rows;  // with the found drafts
    double rate = 0;  // tokens a second that it promises
  };
  // What was found for a sequence, whether it was checked or not.
  struct Found {
    DraftSource source;
    Drafts drafts;
    int begin;  // the position of the first draft
    bool is_used = true;
  };
  std::vector<Request> FindRequests(const DraftLimits& limits, const KVCache& cache,
                                    std::vector<StepItem>* items) const;
  // The request for the drafter's drafts instead of what was found, if it can draft.
  Request ByDrafter(Request request) const;
  // Makes it a request for what was found. Returns false when there is nothing.
  bool TakeFound(Request* request) const;
  // Drafts what takes no time. It sets the source, the length and the width of these requests.
  void FindDrafts(bool may_guess, const DraftLimits& limits, const KVCache& cache,
                  std::vector<StepItem>* items, std::vector<Request>* requests);
  static DraftRecord& RecordOf(DraftSource source, Sequence* sequence) {
    return sequence->draft_records[static_cast<size_t>(source)];
  }
  DraftChances Chances(const Request& request) const;
  // How many tokens its drafts probably yield.
  double Promise(const Request& request) const;
  // Adds what is chosen to `rows`. Returns the rate.
  double ChooseLengths(const std::vector<Request*>& requests, double draft_seconds,
                       DecodeRows* rows) const;
  // Chooses the lengths of found drafts, then those of the drafter's for the other requests.
  Plan MakePlan(int num_sequences, std::vector<Request> requests) const;
  // The better of two plans: found drafts where they pay and else the drafter's, or the drafter's
  // everywhere. (A third, with the drafter's only where they promise more tokens, gains nothing.)
  Plan ChoosePlan(int num_sequences, std::vector<Request> requests) const;
  // The same for fixed lengths, request by request, by the tokens that the drafts promise.
  void ChooseSources(std::vector<Request>* requests) const;
  void Draft(const std::vector<Request>& requests);
  // Where the drafter was asked and has no drafts, takes what was found.
  void PutBack(Plan* plan);
  // Of drafted trees keeps the likeliest drafts, as many as pay (Eagle-2, arXiv 2406.16858).
  void ChooseDrafts(const DecodeRows& rows, const std::vector<Request>& requests) const;
  // Removes the branches for which there are no rows, sequences or pages.
  static void LimitBranches(const DraftLimits& limits, const KVCache& cache,
                            std::vector<StepItem>* items);
  void TakeStates(const std::vector<StepItem>& items, const std::vector<RowStates>& states,
                  const std::vector<SequenceCommit>& commits);
  double SecondsSince(Clock::time_point begin) const {
    return std::chrono::duration<double>(now_() - begin).count();
  }
  // Compares what was found with the tokens that came. Returns the source of the sequence's drafts.
  DraftSource LearnFound(Sequence* sequence);
  void Count(DraftSource source, const SequenceCommit& commit);

  std::unique_ptr<Drafter> drafter_;  // null after it has failed
  DraftShape shape_;
  const Tokenizer* tokenizer_;
  PromptLookup lookup_;
  std::unordered_map<SequenceId, Found> found_;  // in the current step
  DraftPolicy policy_;
  std::function<Clock::time_point()> now_;
  // Of the current step: the drafter's time, that of finding drafts, and whether it was asked.
  double draft_seconds_ = 0, find_seconds_ = 0;
  bool by_drafter_ = false;
  SpecMetrics metrics_;
};

}  // namespace mlc
