// Counters of speculative decoding, under MLC-LLM's names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/request.h"

namespace mlc {

struct SpecMetrics {
  // Index 0 is the token that a step yields without drafts. Index i is the i-th draft, or one draft
  // at depth i when drafts branch.
  std::vector<int64_t> draft_count, accept_count;
  struct Times {
    int64_t count = 0;
    double seconds = 0;
  };
  std::map<int, Times> draft_times;   // of steps that drafted, by number of sequences
  std::map<int, Times> verify_times;  // of steps with drafts, by number of rows
  std::string failure;                // why drafting has ended; empty if it has not
  struct Total {
    int64_t drafts = 0, accepted = 0;
    void Add(int64_t num_drafts, int64_t num_accepted) {
      drafts += num_drafts;
      accepted += num_accepted;
    }
  };
  // Forced drafts, drafts from predictions, and those of all others that were looked up.
  Total jump_forward, prediction, prompt_lookup;
  DraftGain all;  // of drafts of all kinds

  // Of drafts that were looked up or are a drafter's.
  void AddDrafts(int num_drafts, int num_accepted);
  // Sets "jump_forward" if a token was forced, "prediction" if one was drafted from one,
  // "prompt_lookup" if one was looked up, and "drafted_tokens_sum", "accepted_draft_tokens_sum" and
  // "draft_gain" if there was any draft. Sets "spec_decode", "draft_time_by_batch_size" and
  // "verify_time_by_batch_size" if one was looked up or a drafter's.
  void AddTo(Json* metrics) const;
  // {"mean{batch_size=4}": seconds, "count{batch_size=4}": 17, ...}
  static Json TimesJson(const std::map<int, Times>& times);

 private:
  // {"draft_count": [...], "accept_count": [...], "accept_prob": {"accept_prob{step=0}": 1, ...},
  // "accept_rate": {...}, "accept_len": {...}}: the probability that a draft is accepted, the same
  // when the draft before it was accepted, and the mean number of tokens of a step with so many
  // drafts.
  Json ToJson() const;
};

}  // namespace mlc
