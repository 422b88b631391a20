// The part of Engine for apps on phones: trimming memory, warming up, thermal limits.
#include <algorithm>

#include "engine/engine.h"
#include "engine/lifecycle.h"

namespace mlc {

ThermalLimits LimitsFor(ThermalState state, const ThermalLimits& full) {
  int threads = 1, sequences = 1, rows = 1;  // each limit is divided by its number
  if (state == ThermalState::kFair) rows = 2;
  if (state == ThermalState::kSerious) threads = sequences = 2, rows = 4;
  ThermalLimits limits{full.num_threads / threads, full.max_sequences / sequences,
                       full.max_rows / rows};
  if (state == ThermalState::kCritical) limits = {1, 1, full.max_rows / 8};
  limits.num_threads = std::max(1, limits.num_threads);
  limits.max_sequences = std::max(1, limits.max_sequences);
  limits.max_rows = std::max(limits.max_sequences, limits.max_rows);
  return limits;
}

TrimmedMemory Engine::TrimMemory(TrimLevel level) {
  if (level == TrimLevel::kAll) {
    while (!running_.empty()) PreemptLast();
  }
  ClearPrefixCache();
  TrimmedMemory trimmed;
  if (level == TrimLevel::kCaches) return trimmed;
  std::vector<int32_t> pages = cache_.free_pages();
  trimmed.num_pages = static_cast<int>(pages.size());
  trimmed.page_bytes = model_->DiscardPages(pages);
  if (level != TrimLevel::kAll) return trimmed;
  trimmed.weight_bytes = model_->DropWeights();
  if (Drafter* drafter = speculator_->drafter()) trimmed.weight_bytes += drafter->DropWeights();
  return trimmed;
}

Result<int64_t> Engine::Prewarm(bool step) {
  int64_t bytes = model_->TouchWeights();
  if (Drafter* drafter = speculator_->drafter()) bytes += drafter->TouchWeights();
  if (!step) return bytes;
  SequenceId id = next_sequence_++;
  cache_.Add(id);
  Batch batch;
  RowSpan first{id, {0}, /*num_logit_rows=*/1};
  Status status = AddRows(first, &cache_, &batch);
  // If requests have all pages, steps are running, and there is nothing to warm.
  bool has_room = status.ok();
  if (has_room) status = RunBatch(batch, &cache_, model_.get()).status();
  cache_.Remove(id);
  if (has_room) MLC_RETURN_IF_ERROR(status);
  return bytes;
}

ThermalLimits Engine::SetThermalState(ThermalState state, int num_threads) {
  ThermalLimits limits =
      LimitsFor(state, {num_threads, full_limits_.max_sequences, full_limits_.max_rows});
  limits_.max_sequences = limits.max_sequences;
  limits_.max_rows = limits.max_rows;
  while (static_cast<int>(running_.size()) > limits_.max_sequences) PreemptLast();
  return limits;
}

}  // namespace mlc
