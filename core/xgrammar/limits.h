// Limits of the work and the memory of xgrammar's parser. They count what it does, not time, so
// that a grammar is refused on every machine or on none. core/xgrammar/patches put the calls into
// xgrammar.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>

namespace xgrammar {

// The most bytes of forced text that are found at once.
constexpr int kMostForcedBytes = 64;
// So many comparisons take about as long as one unit of work.
constexpr int kCompared = 16;
// Of one place in a text: the states of its row, and the references in it.
constexpr int kMostRowStates = 20'000;
// Of all rows of one text, which the parser keeps until the text ends: about 18 MB. A usual text
// has three states a byte.
constexpr int64_t kMostStates = 400'000;
// Of the rows of one token, while a mask is made.
constexpr int64_t kMostMaskStates = 100'000;

enum class Limit { kWork, kMemory, kSize, kCancelled };

struct LimitReached : std::runtime_error {
  explicit LimitReached(Limit which) : std::runtime_error("a limit is reached"), limit(which) {}
  Limit limit;
};

// What is still allowed on this thread: states that the parser advances, predicts and completes,
// and what the compiler makes.
struct Allowance {
  int64_t work_left = INT64_MAX;
  int64_t parts_left = INT64_MAX;  // numbers in expressions, states and edges that are made
  int64_t most_states = kMostStates;
  int64_t num_states = 0;  // that the parser that was used last keeps
  const std::atomic<bool>* is_cancelled = nullptr;
};
extern thread_local Allowance allowance;

// These throw LimitReached.
inline void CheckCancelled() {
  if (allowance.is_cancelled != nullptr && *allowance.is_cancelled) {
    throw LimitReached(Limit::kCancelled);
  }
}
inline void SpendWork(int64_t work) {
  allowance.work_left -= work;
  if (allowance.work_left < 0) throw LimitReached(Limit::kWork);
  CheckCancelled();
}
inline void SpendParts(int64_t count) {
  allowance.parts_left -= count;
  if (allowance.parts_left < 0) throw LimitReached(Limit::kSize);
  CheckCancelled();
}
inline void CheckRowStates(int count) {
  if (count > kMostRowStates) throw LimitReached(Limit::kMemory);
}
inline void CheckStates(int64_t scanned, int64_t referred) {
  allowance.num_states = scanned + referred;
  if (allowance.num_states > allowance.most_states) throw LimitReached(Limit::kMemory);
}

}  // namespace xgrammar
