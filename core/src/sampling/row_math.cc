// Each pass is written once (row_passes.inc) with the compiler's vectors (GCC and Clang). It is
// compiled for the baseline and, on x86, for AVX2. The file is built without fused multiply-adds,
// because they would round differently on different CPUs.
#include "sampling/row_math.h"

#include <cstring>
#include <limits>

#include "base/x86_features.h"

#define MLC_INLINE inline __attribute__((always_inline))

namespace mlc {
namespace {

constexpr int kLanes = 16;
constexpr float kInf = std::numeric_limits<float>::infinity();

namespace baseline {
constexpr int kWidth = 4;
#include "sampling/row_passes.inc"
}  // namespace baseline

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
namespace avx2 {
constexpr int kWidth = 8;
#include "sampling/row_passes.inc"
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
const bool has_avx2 = HasX86Feature("avx2");
#else
namespace avx2 = baseline;
constexpr bool has_avx2 = false;
#endif

}  // namespace

RowMax MaxOfRow(const float* row, int size) {
  return has_avx2 ? avx2::MaxOfRow(row, size) : baseline::MaxOfRow(row, size);
}

void BlockMax(const float* row, int size, float* out) {
  return has_avx2 ? avx2::BlockMax(row, size, out) : baseline::BlockMax(row, size, out);
}

double ExpOfRow(const float* row, int size, float max, float scale, float* weights) {
  return has_avx2 ? avx2::ExpOfRow(row, size, max, scale, weights)
                  : baseline::ExpOfRow(row, size, max, scale, weights);
}

RowSplit SplitRow(const float* row, int size, float bound) {
  return has_avx2 ? avx2::SplitRow(row, size, bound) : baseline::SplitRow(row, size, bound);
}

double SumOfRow(const float* row, int size) {
  return has_avx2 ? avx2::SumOfRow(row, size) : baseline::SumOfRow(row, size);
}

RowKernels BaselineKernels() {
  return {baseline::MaxOfRow, baseline::BlockMax, baseline::ExpOfRow, baseline::SplitRow,
          baseline::SumOfRow};
}

}  // namespace mlc
