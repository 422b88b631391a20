// Conversions of float16, which C++17 has no type for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mlc {

inline float FloatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint32_t BitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// The bits of a float16 behind its sign become those of a float with another bias, which a product
// mends. It is exact, also for subnormal numbers.
inline float FloatOfHalf(uint16_t code) {
  uint32_t size = code & 0x7FFFu, sign = uint32_t{code} >> 15 << 31;
  if (size >= 0x7C00) return FloatOfBits(sign | 0x7F800000u | (size & 0x3FFu) << 13);
  return FloatOfBits(sign | BitsOfFloat(FloatOfBits(size << 13) * 0x1p112f));
}

// To the nearest float16, ties to even. A float of 0.5 to 1 has the unit of a subnormal float16, so
// a sum with 0.5 rounds to it.
inline uint16_t HalfOfFloat(float value) {
  uint32_t bits = BitsOfFloat(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7FFFFFFFu;
  constexpr uint32_t kInfinity = 0x7F800000u, kHalf = 0x3F000000u;
  if (size > kInfinity) return static_cast<uint16_t>(sign | 0x7E00u);
  if (size >= BitsOfFloat(65520.0f)) return static_cast<uint16_t>(sign | 0x7C00u);
  if (size < BitsOfFloat(0x1p-14f)) {
    return static_cast<uint16_t>(sign | (BitsOfFloat(FloatOfBits(size) + 0.5f) - kHalf));
  }
  uint32_t rounded = size + 0xFFFu + (size >> 13 & 1u);
  return static_cast<uint16_t>(sign | (rounded - 0x38000000u) >> 13);
}

// The same for many finite floats, given by their bits. There are no branches, so that compilers
// use vectors; what is too large gets any value.
inline void HalvesOfBits(const uint32_t* bits, size_t count, uint16_t* halves) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t sign = bits[i] >> 16 & 0x8000u, size = bits[i] & 0x7FFFFFFFu;
    uint32_t small = BitsOfFloat(FloatOfBits(size) + 0.5f) - 0x3F000000u;
    uint32_t large = (size + 0xFFFu + (size >> 13 & 1u) - 0x38000000u) >> 13;
    uint32_t is_small = (size - 0x38800000u) >> 31 ? 0xFFFFFFFFu : 0u;  // below 2^-14
    halves[i] = static_cast<uint16_t>(sign | (small & is_small) | (large & ~is_small));
  }
}

}  // namespace mlc
