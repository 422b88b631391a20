// Conversions between half and single precision. LLVM calls them by name if the CPU has no
// instruction for them. They are weak symbols: if the platform has its own, those are used.
#include <cstdint>
#include <cstring>

namespace {

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

float HalfToFloat(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
  if (exponent == 0x1f) return FloatOf(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) return FloatOf(sign | (exponent + 112) << 23 | fraction << 13);
  float tiny = static_cast<float>(fraction) * 0x1p-24f;  // zero or subnormal: exact
  return FloatOf(BitsOf(tiny) | sign);
}

// Rounds to nearest even. `bits`: a float's bits; `sticky`: whether nonzero lower bits were cut
// off.
uint16_t RoundToHalf(uint32_t bits, bool sticky) {
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);  // 65536 and above
  int exponent = static_cast<int>(magnitude >> 23) - 112;                    // exponent of the half
  if (exponent < -10) return static_cast<uint16_t>(sign);
  uint32_t value = magnitude & 0x7fffff, shift = 13;
  if (exponent <= 0) {  // subnormal: the leading one is written out
    value |= 0x800000;
    shift = static_cast<uint32_t>(14 - exponent);
    exponent = 0;
  }
  uint32_t half = static_cast<uint32_t>(exponent) << 10 | 0;
  half += value >> shift;
  uint32_t rest = value & ((1u << shift) - 1), middle = 1u << (shift - 1);
  bool up = rest > middle || (rest == middle && (sticky || (half & 1)));
  return static_cast<uint16_t>(sign |
                               (half + up));  // a carry goes on into the exponent, to infinity
}

// `value` rounded towards zero to a float, and whether that changed it.
uint32_t Truncate(double value, bool* inexact) {
  float nearest = static_cast<float>(value);
  uint32_t bits = BitsOf(nearest);
  *inexact = static_cast<double>(nearest) != value && value == value;
  bool away =
      value < 0 ? static_cast<double>(nearest) < value : static_cast<double>(nearest) > value;
  return *inexact && away ? bits - 1 : bits;
}

}  // namespace

extern "C" {

__attribute__((weak, visibility("default"))) float __gnu_h2f_ieee(uint16_t half) {
  return HalfToFloat(half);
}

__attribute__((weak, visibility("default"))) uint16_t __gnu_f2h_ieee(float value) {
  return RoundToHalf(BitsOf(value), false);
}

__attribute__((weak, visibility("default"))) uint16_t __truncdfhf2(double value) {
  bool inexact;
  uint32_t bits = Truncate(value, &inexact);
  return RoundToHalf(bits, inexact);
}
}
