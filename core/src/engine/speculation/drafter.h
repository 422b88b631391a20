// The interface of what computes guesses of the next tokens of sequences, which takes time. A guess
// can never make the text wrong, because the target model verifies it (engine/commit).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/drafts.h"
#include "engine/sequence.h"
#include "kv/kv_cache.h"

namespace mlc {

struct DraftTask {
  Sequence* sequence;
  int max_drafts;  // depth, at least 1
  int width = 1;   // width: the most drafts at one depth
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  // Whether it may have drafts for the sequence now. Draft may still have none, for example when
  // its pages are full.
  virtual bool CanDraft(const Sequence&) const { return true; }
  // The drafts of each task, 0 to max_drafts deep, in depth-first order. It leaves the sequences
  // unchanged. After an error this drafter is not used again.
  virtual Result<std::vector<Drafts>> Draft(const std::vector<DraftTask>& tasks) = 0;
  // Whether it wants states of a step's rows: those of the chosen layers, or else the state after
  // the last norm.
  virtual bool reads_states() const { return false; }
  virtual bool reads_chosen_layers() const { return false; }
  // They are [count, size of a row's states]: of a sequence's rows from position `first` on,
  // without those of refused drafts. Called for each sequence of each step, one or more times.
  virtual void TakeStates(const Sequence&, int first, int count, const float* states) {
    (void)first, (void)count, (void)states;
  }
  // Whether it reads the target's pages, as the last computed row of a sequence does.
  virtual bool reads_pages() const { return false; }
  // Called before CanDraft and Draft with the target's cache.
  virtual void SeeCache(const KVCache&) {}
  // Frees the memory that it keeps for sequences.
  virtual void Clear() {}
  // As those of its model (Model), if it has one.
  virtual int64_t DropWeights() { return 0; }
  virtual int64_t TouchWeights() { return 0; }
  // The measured time of one more draft for each of `num_tasks`, or of the nearest number for which
  // there is one; 0: there is none.
  virtual double seconds_per_draft(int num_tasks) const = 0;
  // Whether all drafts of a call are made together, so that this is the time of the call.
  virtual bool drafts_at_once() const { return false; }
};

}  // namespace mlc
