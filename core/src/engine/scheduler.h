// Decides what the next step computes. Pure: it sees lengths and page counts, changes nothing.
//
// Every running sequence has tokens whose keys and values are not computed yet: one in decode, many
// in prefill. A step takes a few from each, the first in rank first, within a budget of rows. When
// pages run out the last in rank gives its pages back and waits, tokens kept.
//
// Rank is one order for everything, fixed when a request comes: its time of arrival, moved forward
// by its priority. So equal priorities are served in turn, the youngest of the lowest priority
// gives way first, and nobody starves: whoever comes long enough after a request ranks behind it.
#ifndef MLC_ENGINE_SCHEDULER_H_
#define MLC_ENGINE_SCHEDULER_H_

#include <deque>
#include <memory>
#include <vector>

#include "engine/sequence.h"
#include "kv/kv_cache.h"

namespace mlc {

enum class PrefillMode {
  kHybrid,   // chunks of prompts fill the rows that decodes leave
  kChunked,  // a step has chunks of prompts, or else decodes
};

struct SchedulerLimits {
  int max_sequences = 1;  // running at once
  int max_rows = 1;       // of a step
  PrefillMode prefill_mode = PrefillMode::kHybrid;
  int max_prefill_streak = 4;  // kChunked: steps of prompts before decodes have their turn
};

// Rows tokens[num_computed .. num_computed + num_rows) of a sequence.
struct WorkItem {
  SequenceId sequence;
  int num_rows;
};

struct Plan {
  std::vector<SequenceId> preempt;  // from the end of the running ones; they go back to waiting
  int num_admitted = 0;             // from the head of the waiting queue, after that
  std::vector<WorkItem> items;
  bool holds_up_decodes = false;  // kChunked: running answers wait while prompts are taken in
};

using SequenceList = std::deque<std::shared_ptr<Sequence>>;  // in the order of rank

// What one level of priority is worth in time of arrival.
constexpr std::chrono::seconds kPriorityWorth{10};

bool RanksBefore(const Sequence& a, const Sequence& b);
void InsertByRank(std::shared_ptr<Sequence> sequence, SequenceList* list);

// `running`: all of them in `cache`; `waiting`: none of them. `prefill_streak`: how many of the
// plans just before this one had `holds_up_decodes`.
Plan PlanStep(const SequenceList& running, const SequenceList& waiting, const KVCache& cache,
              const SchedulerLimits& limits, int prefill_streak = 0);

}  // namespace mlc

#endif  // MLC_ENGINE_SCHEDULER_H_
