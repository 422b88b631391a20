// Counters of an engine, under MLC-LLM's names.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "engine/request.h"
#include "engine/speculation/spec_metrics.h"

namespace mlc {

struct Metrics {
  int64_t prompt_tokens = 0, prefill_tokens = 0, decode_tokens = 0, completion_tokens = 0;
  int64_t num_steps = 0, num_preemptions = 0, num_finished = 0, num_failed = 0;
  int num_pages = 0, num_free_pages = 0;  // of the KV cache, at this moment
  int num_running = 0, num_waiting = 0;   // sequences, at this moment
  int num_queued = 0;                     // requests that have not run yet, at this moment
  // taken from memory and files into the prefix cache, files written, and the bytes that the memory
  // has now (kept/)
  int64_t restored_tokens = 0, written_blocks = 0, kept_memory_bytes = 0;
  // pictures for which a tower ran, the time that it took, how often rows were found instead, and
  // the bytes of those that are kept
  int64_t num_encoded_pictures = 0, num_row_cache_hits = 0, row_cache_bytes = 0;
  double encode_s = 0;
  int64_t device_read_bytes = 0;       // copied by steps from the device to the host
  double prefill_s = 0, decode_s = 0;  // time of the model; a mixed step is divided by its rows
  Usage last_finished;
  SpecMetrics speculation;

  // of steps with decodes only, by number of sequences
  std::vector<SpecMetrics::Times> decode_times;

  void AddStep(int prefill_rows, int decode_rows, double seconds);
  // Adds a step with one row for each of `num_sequences` and no other rows.
  void AddDecode(int num_sequences, double seconds);
  void AddFinished(const Usage& usage);
  Json ToJson() const;
};

// {"prompt_tokens", "completion_tokens", "prefill_tokens_per_s", "decode_tokens_per_s", "ttft_s",
//  "end_to_end_latency_s", ...}: the members that MLC-LLM puts into `usage.extra`.
Json UsageExtra(const Usage& usage);

}  // namespace mlc
