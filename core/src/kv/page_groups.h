// Groups of pages, by kind of layer.
//
// Layers that read all positions and layers with a window need different pages of a sequence: the
// first group has those of the layers that read all, the second one those of the layers with a
// window. If all layers are of one kind, there is one group. A page belongs to one group: the pages
// of the first are 0 .. n - 1, those of the second n, n + 1, ...
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace mlc {

constexpr int32_t kNoPage = -1;
constexpr size_t kMaxPageGroups = 2;

// What prefixes in files have of a sequence (engine/kept): the pages of the first group, those of
// the second one, the recurrent state.
enum class KeptPart { kPages, kWindow, kState };

// The pages of all groups that hold the same positions; kNoPage where a group has none.
struct PageSet {
  PageSet() { of.fill(kNoPage); }
  explicit PageSet(int32_t first) : PageSet() { of[0] = first; }
  std::array<int32_t, kMaxPageGroups> of;
};

// Numbers of pages, by group.
struct PageCounts {
  std::array<int, kMaxPageGroups> of{};

  static PageCounts Each(int count) {
    PageCounts counts;
    counts.of.fill(count);
    return counts;
  }
  bool FitIn(const PageCounts& room) const {
    for (size_t g = 0; g < kMaxPageGroups; ++g) {
      if (of[g] > room.of[g]) return false;
    }
    return true;
  }
  PageCounts& operator+=(const PageCounts& other) {
    for (size_t g = 0; g < kMaxPageGroups; ++g) of[g] += other.of[g];
    return *this;
  }
  PageCounts& operator-=(const PageCounts& other) {
    for (size_t g = 0; g < kMaxPageGroups; ++g) of[g] -= other.of[g];
    return *this;
  }
};

inline PageCounts operator+(PageCounts a, const PageCounts& b) { return a += b; }
inline PageCounts Larger(PageCounts a, const PageCounts& b) {
  for (size_t g = 0; g < kMaxPageGroups; ++g) a.of[g] = std::max(a.of[g], b.of[g]);
  return a;
}
inline PageCounts operator-(PageCounts a, const PageCounts& b) { return a -= b; }

}  // namespace mlc
