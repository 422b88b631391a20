// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
#pragma once

#include <algorithm>
#include <cstdint>

#include "chat/protocol/protocol.gen.h"
#include "sampling/sampling_numbers.gen.h"

namespace mlc {

// What a request asks for; where it says nothing what the model recommends, else the neutral value.
inline SamplingNumbers ReadSampling(const protocol::SamplingFields& request,
                                    const protocol::SamplingFields& model) {
  auto ToInt32 = [](int64_t value) {
    return static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
  };
  SamplingNumbers out;
  if (auto given = request.temperature ? request.temperature : model.temperature)
    out.temperature = *given;
  if (auto given = request.top_p ? request.top_p : model.top_p) out.top_p = *given;
  if (auto given = request.top_k ? request.top_k : model.top_k) out.top_k = ToInt32(*given);
  if (auto given = request.min_p ? request.min_p : model.min_p) out.min_p = *given;
  if (auto given = request.frequency_penalty ? request.frequency_penalty : model.frequency_penalty)
    out.frequency_penalty = *given;
  if (auto given = request.presence_penalty ? request.presence_penalty : model.presence_penalty)
    out.presence_penalty = *given;
  if (auto given =
          request.repetition_penalty ? request.repetition_penalty : model.repetition_penalty)
    out.repetition_penalty = *given;
  if (auto given = request.top_n_sigma ? request.top_n_sigma : model.top_n_sigma)
    out.top_n_sigma = *given;
  if (auto given = request.xtc_probability ? request.xtc_probability : model.xtc_probability)
    out.xtc_probability = *given;
  if (auto given = request.xtc_threshold ? request.xtc_threshold : model.xtc_threshold)
    out.xtc_threshold = *given;
  if (auto given = request.dry_multiplier ? request.dry_multiplier : model.dry_multiplier)
    out.dry_multiplier = *given;
  if (auto given = request.dry_base ? request.dry_base : model.dry_base) out.dry_base = *given;
  if (auto given =
          request.dry_allowed_length ? request.dry_allowed_length : model.dry_allowed_length)
    out.dry_allowed_length = ToInt32(*given);
  if (auto given =
          request.dry_penalty_last_n ? request.dry_penalty_last_n : model.dry_penalty_last_n)
    out.dry_penalty_last_n = ToInt32(*given);
  return out;
}

}  // namespace mlc
