// Decides what the next step computes. Pure: it sees lengths and page counts, changes nothing.
//
// Every running sequence has tokens whose keys and values are not computed yet: one in decode, many
// in prefill. A step takes a few from each, the oldest first, within a budget of rows; decodes and
// chunks of prompts share steps ("hybrid"). When pages run out the youngest sequence gives its
// pages back and waits at the head of the queue, tokens kept.
#ifndef MLC_ENGINE_SCHEDULER_H_
#define MLC_ENGINE_SCHEDULER_H_

#include <deque>
#include <memory>
#include <vector>

#include "engine/sequence.h"
#include "kv/kv_cache.h"

namespace mlc {

struct SchedulerLimits {
  int max_sequences = 1;  // running at once
  int max_rows = 1;       // of a step
};

// Rows tokens[num_computed .. num_computed + num_rows) of a sequence.
struct WorkItem {
  SequenceId sequence;
  int num_rows;
  bool wants_logits;  // its last row is the last token: sample after it
};

struct Plan {
  std::vector<SequenceId> preempt;  // running sequences that go back to waiting
  int num_admitted = 0;             // from the head of the waiting queue
  std::vector<WorkItem> items;
};

using SequenceList = std::deque<std::shared_ptr<Sequence>>;

// `running`: oldest first, all of them in `cache`. `waiting`: next first, none of them in `cache`.
Plan PlanStep(const SequenceList& running, const SequenceList& waiting, const KVCache& cache,
              const SchedulerLimits& limits);

}  // namespace mlc

#endif  // MLC_ENGINE_SCHEDULER_H_
