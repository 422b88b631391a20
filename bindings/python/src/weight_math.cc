// Each pass is written once (weight_passes.inc) with the compiler's vectors (GCC and Clang). It is
// compiled for the baseline and, on x86, for AVX2. The file is built without fused multiply-adds,
// because they would round differently.
#include "weight_math.h"

#include <cstring>

#include "base/x86_features.h"

#define MLC_INLINE inline __attribute__((always_inline))

namespace mlc {
namespace {

constexpr uint32_t kSign = 0x80000000u;
constexpr float kLeastBlock = 1e-10f;  // of what divides a block of zeros

size_t BytesOf(FloatType type) { return type == FloatType::kFloat32 ? 4 : 2; }

float FromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

namespace baseline {
constexpr int kWidth = 4;
#include "weight_passes.inc"
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
#include "weight_passes.inc"
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

const WeightMath& WeightKernels(bool baseline) {
  static const WeightMath wide = {avx2::Largest, avx2::Cast, avx2::Groups, avx2::Float8,
                                  avx2::Float8Blocks};
  static const WeightMath narrow = {baseline::Largest, baseline::Cast, baseline::Groups,
                                    baseline::Float8, baseline::Float8Blocks};
  return has_avx2 && !baseline ? wide : narrow;
}

}  // namespace mlc
