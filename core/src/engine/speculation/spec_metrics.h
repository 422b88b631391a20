// Counters of speculative decoding, under MLC-LLM's names.
#ifndef MLC_ENGINE_SPECULATION_SPEC_METRICS_H_
#define MLC_ENGINE_SPECULATION_SPEC_METRICS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace mlc {

struct SpecMetrics {
  // Index 0 is the token that a step yields without drafts. Index i is the i-th draft, or one draft
  // at depth i when drafts branch.
  std::vector<int64_t> draft_count, accept_count;
  struct Times {
    int64_t count = 0;
    double seconds = 0;
  };
  std::map<int, Times> draft_times;               // of steps that drafted, by number of sequences
  std::map<int, Times> verify_times;              // of steps with drafts, by number of rows
  std::string failure;                            // why drafting has ended; empty if it has not
  int64_t jump_count = 0, jump_accept_count = 0;  // forced drafts, and how many of them were chosen

  void AddDrafts(int num_drafts, int num_accepted);
  void AddJump(int num_drafts, int num_accepted) {
    jump_count += num_drafts;
    jump_accept_count += num_accepted;
  }
  // Sets "jump_forward" if a token was forced. Sets "spec_decode", "draft_time_by_batch_size" and
  // "verify_time_by_batch_size" if a token was drafted.
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

#endif  // MLC_ENGINE_SPECULATION_SPEC_METRICS_H_
