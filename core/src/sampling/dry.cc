#include "sampling/dry.h"

#include <algorithm>
#include <cmath>

namespace mlc {
namespace {

// For each place, how many values from there on are equal to those at the beginning: the Z function
// (Gusfield 1997, "Algorithms on Strings, Trees, and Sequences", 1.3). No length is above `most`.
std::vector<int> CommonPrefixes(const std::vector<int32_t>& values, int size, int most) {
  std::vector<int> lengths(static_cast<size_t>(size));
  auto value = [&](int i) { return values[static_cast<size_t>(i)]; };
  for (int i = 1, begin = 0, end = 0; i < size; ++i) {
    int length = i < end ? std::min(end - i, lengths[static_cast<size_t>(i - begin)]) : 0;
    while (length < most && i + length < size && value(length) == value(i + length)) ++length;
    lengths[static_cast<size_t>(i)] = length;
    if (i + length > end) begin = i, end = i + length;
  }
  return lengths;
}

}  // namespace

std::unordered_map<int32_t, float> DryPenalties(const SamplingParams& params,
                                                const std::vector<int32_t>& newest_first) {
  auto is_breaker = [&](int32_t token) {
    const auto& breakers = params.dry_breakers;
    return breakers != nullptr && token >= 0 && static_cast<size_t>(token) < breakers->size() &&
           (*breakers)[static_cast<size_t>(token)];
  };
  int size = static_cast<int>(newest_first.size());
  if (params.dry_penalty_last_n > 0) size = std::min(size, params.dry_penalty_last_n);
  // A repetition ends with the newest token and has no breaker.
  auto begin = newest_first.begin();
  int most = static_cast<int>(std::find_if(begin, begin + size, is_breaker) - begin);
  std::vector<int> lengths = CommonPrefixes(newest_first, size, most);
  std::unordered_map<int32_t, int> longest;  // by the token that came next
  for (int i = 1; i < size; ++i) {
    int length = lengths[static_cast<size_t>(i)];
    int32_t next = newest_first[static_cast<size_t>(i - 1)];
    if (length < params.dry_allowed_length || is_breaker(next)) continue;
    int& known = longest[next];
    known = std::max(known, length);
  }
  std::unordered_map<int32_t, float> penalties;
  for (const auto& [token, length] : longest) {
    constexpr double kMost = 1e6;  // no logit comes back from there
    double growth = std::pow(params.dry_base, length - params.dry_allowed_length);
    penalties[token] = static_cast<float>(std::min(kMost, params.dry_multiplier * growth));
  }
  return penalties;
}

}  // namespace mlc
