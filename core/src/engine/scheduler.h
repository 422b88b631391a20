// Decides which rows the next step computes. It is pure: it reads lengths and page counts and
// changes nothing.
//
// Every running sequence has tokens whose keys and values are not computed yet: one token in
// decode, many in prefill. A step takes some rows of each sequence, in order of rank, within a
// budget of rows. When pages run out, the sequence that is last in rank gives its pages back and
// waits. It keeps its tokens. A sequence whose next rows await a tower's values takes no rows.
//
// The rank is one order for all decisions: a request's time of arrival, moved forward by its
// priority. The youngest request of the lowest priority gives its pages back first.
//
// Of the prompts, the first in rank takes the rows that there are. If it needs more than a step
// has, much shorter ones and more urgent ones go ahead of it with up to half of them.
//
// Requests take turns, so that a short one does not wait for long ones to end. A request that has
// generated a turn's tokens while others wait ranks as if it had arrived then, and a while later
// (kTurnWorth). From then on it gives way to every request that ranks before it. No request
// starves: a request that arrives long enough after another always ranks behind it.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/sequence.h"
#include "engine/step_pace.h"
#include "kv/kv_cache.h"

namespace mlc {

enum class PrefillMode {
  kHybrid,   // decodes first; chunks of prompts fill the other rows
  kChunked,  // a step has either chunks of prompts or decodes
};

struct SchedulerLimits {
  int max_sequences = 1;  // running at the same time
  int max_rows = 1;       // of one step
  PrefillMode prefill_mode = PrefillMode::kHybrid;
  int max_prefill_streak = 4;  // kChunked: steps with prompts before decodes get a step
  bool whole_texts = false;    // a step has all rows of a text or none (encoders)
  // The limit of the cool device, which rows that see each other may take: a picture's rows go into
  // one step, as those of an encoder's text.
  int full_rows = 0;
  PromptRows prompt_rows;  // of all prompts together; a picture may take more
};

// The rows of tokens[num_computed .. num_computed + num_rows) of one sequence.
struct WorkItem {
  SequenceId sequence;
  int num_rows;
};

struct Plan {
  std::vector<SequenceId> preempt;  // taken from the end of the running list; they wait again
  int num_admitted = 0;             // taken then from the front of the waiting list
  std::vector<WorkItem> items;
  bool holds_up_decodes = false;  // kChunked: running answers wait while this plan reads prompts
};

using SequenceList = std::deque<std::shared_ptr<Sequence>>;  // ordered by rank

// One level of priority moves the time of arrival by this much.
constexpr std::chrono::seconds kPriorityWorth{10};

// A request that had its turn ranks this much behind new ones.
constexpr std::chrono::seconds kTurnWorth{30};
// A turn's tokens: many enough that it costs little to compute again what the prefix cache lost.
constexpr int kTurnTokens = 64;
// A request's later turns are longer, as in a multilevel feedback queue: it gives way to new
// requests at once anyway, and each change of places between long answers costs pages that are
// computed again.
constexpr int kLaterTurnTokens = 256;

// Whether any of them waits for its next token.
bool HasDecodes(const SequenceList& running);

// Whether the sequence has generated a turn's tokens.
bool HadItsTurn(const Sequence& sequence);
// Ends the turns of running requests if other requests wait, and restores the order of both lists.
void EndTurns(Clock::time_point now, SequenceList* running, SequenceList* waiting);

bool RanksBefore(const Sequence& a, const Sequence& b);
void InsertByRank(std::shared_ptr<Sequence> sequence, SequenceList* list);

// All `running` sequences are in `cache`, and no `waiting` sequence is. `prefill_streak`: the
// number of plans with `holds_up_decodes` just before this one.
Plan PlanStep(const SequenceList& running, const SequenceList& waiting, const KVCache& cache,
              const SchedulerLimits& limits, int prefill_streak = 0);

}  // namespace mlc
