#include "engine/metrics.h"

#include <algorithm>

namespace mlc {
namespace {

double Rate(double amount, double per) { return per > 0 ? amount / per : 0; }

// The same form as SpecMetrics::TimesJson.
Json TimesJson(const std::vector<SpecMetrics::Times>& times) {
  std::map<int, SpecMetrics::Times> by_size;
  for (size_t size = 0; size < times.size(); ++size) {
    if (times[size].count > 0) by_size[static_cast<int>(size)] = times[size];
  }
  return SpecMetrics::TimesJson(by_size);
}

}  // namespace

void DraftGain::Add(const DraftGain& other) {
  drafted += other.drafted;
  accepted += other.accepted;
  seconds += other.seconds;
  plain_seconds += other.plain_seconds;
}

double Usage::prefill_tokens_per_s() const { return Rate(prefill_tokens(), prefill_s); }
double Usage::seconds_per_prefill_token() const { return Rate(prefill_s, prefill_tokens()); }
double Usage::decode_tokens_per_s() const { return Rate(decode_tokens(), decode_s); }
double Usage::seconds_per_decode_token() const { return Rate(decode_s, decode_tokens()); }

void Metrics::AddStep(int prefill_rows, int decode_rows, double seconds) {
  ++num_steps;
  prefill_tokens += prefill_rows;
  decode_tokens += decode_rows;
  int rows = std::max(1, prefill_rows + decode_rows);
  prefill_s += seconds * prefill_rows / rows;
  decode_s += seconds * decode_rows / rows;
}

void Metrics::AddDecode(int num_sequences, double seconds) {
  size_t size = static_cast<size_t>(num_sequences);
  if (decode_times.size() <= size) decode_times.resize(size + 1);
  ++decode_times[size].count;
  decode_times[size].seconds += seconds;
}

void Metrics::AddFinished(const Usage& usage) {
  ++num_finished;
  prompt_tokens += usage.prompt_tokens;
  completion_tokens += usage.completion_tokens;
  last_finished = usage;
}

Json Metrics::ToJson() const {
  Json out;
  out.Set("engine_prefill_time_sum", prefill_s)
      .Set("engine_decode_time_sum", decode_s)
      .Set("engine_jump_forward_time_sum", 0.0)
      .Set("prompt_tokens_sum", prompt_tokens)
      .Set("prefill_tokens_sum", prefill_tokens)
      .Set("decode_tokens_sum", decode_tokens)
      .Set("jump_forward_tokens_sum", 0)
      .Set("completion_tokens_sum", completion_tokens)
      .Set("prefill_tokens_per_s", Rate(static_cast<double>(prefill_tokens), prefill_s))
      .Set("decode_tokens_per_s", Rate(static_cast<double>(decode_tokens), decode_s))
      .Set("kv_pages_total", num_pages)
      .Set("kv_pages_free", num_free_pages)
      .Set("num_running_sequences", num_running)
      .Set("num_waiting_sequences", num_waiting)
      .Set("num_queued_requests", num_queued)
      .Set("num_steps", num_steps)
      .Set("num_preemptions", num_preemptions)
      .Set("restored_tokens_sum", restored_tokens)
      .Set("written_blocks_sum", written_blocks)
      .Set("prefix_cache_ram_bytes", kept_memory_bytes)
      .Set("device_read_bytes_sum", device_read_bytes)
      .Set("encoded_pictures_sum", num_encoded_pictures)
      .Set("engine_encode_time_sum", encode_s)
      .Set("picture_cache_hits_sum", num_row_cache_hits)
      .Set("picture_cache_bytes", row_cache_bytes)
      .Set("num_finished_requests", num_finished)
      .Set("num_failed_requests", num_failed);
  out.Set("decode_time_by_batch_size", TimesJson(decode_times));
  speculation.AddTo(&out);
  if (num_finished > 0) out.Set("last_finished_request", UsageExtra(last_finished));
  return out;
}

Json UsageExtra(const Usage& usage) {
  Json out;
  out.Set("prompt_tokens", usage.prompt_tokens)
      .Set("completion_tokens", usage.completion_tokens)
      .Set("prefill_tokens", usage.prefill_tokens())
      .Set("decode_tokens", usage.decode_tokens())
      .Set("jump_forward_tokens", 0)
      .Set("prefill_tokens_per_s", usage.prefill_tokens_per_s())
      .Set("decode_tokens_per_s", usage.decode_tokens_per_s())
      .Set("ttft_s", usage.ttft_s)
      .Set("inter_token_latency_s", usage.seconds_per_decode_token())
      .Set("end_to_end_latency_s", usage.end_to_end_s);
  if (usage.drafts.drafted > 0) {
    out.Set("drafted_tokens", usage.drafts.drafted)
        .Set("accepted_draft_tokens", usage.drafts.accepted);
    if (auto times = usage.drafts.times()) out.Set("draft_gain", *times);
  }
  return out;
}

}  // namespace mlc
