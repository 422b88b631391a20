#include "sampling/logits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sampling/dry.h"

namespace mlc {
namespace {

// Copies `from` where the bit is set, and writes an impossible value elsewhere; up to 32 values. It
// is written for vector instructions: each lane tests its own bit.
void SelectBits(uint32_t bits, const float* from, int count, float* to) {
  for (int i = 0; i < count; ++i) {
    to[i] = (bits & (1u << i)) != 0 ? from[i] : -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

std::vector<LogitChange> ChangesOf(const SamplingParams& params, const TokenCounts& counts,
                                   const std::vector<int32_t>& newest_first, int vocab_size) {
  std::vector<LogitChange> changes;
  std::unordered_map<int32_t, size_t> places;  // in the result, by token
  auto change_of = [&](int32_t token) -> LogitChange& {
    auto [found, is_new] = places.emplace(token, changes.size());
    if (is_new) changes.push_back({token, 0, 1, 0});
    return changes[found->second];
  };
  auto is_known = [&](int32_t token) { return token >= 0 && token < vocab_size; };
  for (const auto& [token, bias] : params.logit_bias) {
    if (is_known(token)) change_of(token).bias += bias;
  }
  if (params.has_penalties()) {
    for (const auto& [token, count] : counts.counts()) {
      if (!is_known(token)) continue;
      LogitChange& change = change_of(token);
      change.repetition = static_cast<float>(params.repetition_penalty);
      change.penalty =
          static_cast<float>(params.frequency_penalty * count + params.presence_penalty);
    }
  }
  if (params.has_dry()) {
    for (const auto& [token, penalty] : DryPenalties(params, newest_first)) {
      if (is_known(token)) change_of(token).penalty += penalty;
    }
  }
  return changes;
}

void ApplyChanges(const std::vector<LogitChange>& changes, float* logits) {
  for (const LogitChange& change : changes) {
    float& logit = logits[change.token];
    // already impossible, or an error that the sampler reports
    if (!std::isfinite(logit)) continue;
    logit += change.bias;
    // A repetition penalty near 0 makes a token much likelier. The result must stay finite.
    constexpr float kMost = std::numeric_limits<float>::max();
    float scaled = logit > 0 ? logit / change.repetition : logit * change.repetition;
    logit = std::clamp(scaled, -kMost, kMost) - change.penalty;
  }
}

double Deviation(const float* logits, int vocab_size) {
  double sum = 0, squares = 0;
  int count = 0;
  auto add_up = [&](auto add) {
    for (int i = 0; i < vocab_size; ++i) {
      if (std::isfinite(logits[i])) add(static_cast<double>(logits[i]));
    }
  };
  add_up([&](double logit) { sum += logit, ++count; });
  double mean = count > 0 ? sum / count : 0;
  add_up([&](double logit) { squares += (logit - mean) * (logit - mean); });
  return count > 0 ? std::sqrt(squares / count) : 0;
}

void KeepNearLargest(double most, float* logits, int vocab_size) {
  double least = *std::max_element(logits, logits + vocab_size) - most;
  for (int i = 0; i < vocab_size; ++i) {
    if (logits[i] < least) logits[i] = -std::numeric_limits<float>::infinity();
  }
}

void ApplyMask(const std::vector<int32_t>& mask, const float* logits, int vocab_size, float* to) {
  constexpr int kBits = 32;
  constexpr float kImpossible = -std::numeric_limits<float>::infinity();
  for (int first = 0; first < vocab_size;) {
    size_t word = static_cast<size_t>(first / kBits);
    uint32_t allowed = word < mask.size() ? static_cast<uint32_t>(mask[word]) : 0;
    int count = std::min(kBits, vocab_size - first);
    const float* from = logits + first;
    if (allowed == 0) {  // most words are 0: handle a run of them at once
      size_t end = word + 1, last = static_cast<size_t>((vocab_size - 1) / kBits) + 1;
      while (end < last && (end >= mask.size() || mask[end] == 0)) ++end;
      count = std::min(static_cast<int>(end) * kBits, vocab_size) - first;
      std::fill_n(to + first, count, kImpossible);
    } else if (allowed == ~0u) {
      if (to != logits) std::copy_n(from, count, to + first);
    } else {
      SelectBits(allowed, from, count, to + first);
    }
    first += count;
  }
}

}  // namespace mlc
