// Weights become the bytes that a scheme stores: MLC-LLM's groups, and floats of 16 and 8 bits. The
// result is the same on every CPU, bit for bit. (quantization/rounding.py says what it means.)
//
//   WeightKernels().groups({weights, FloatType::kBFloat16}, rows, columns, {4, 32},
//                          FloatType::kFloat16, words, scales);
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlc {

enum class FloatType { kFloat32, kFloat16, kBFloat16 };

// Weights in memory, one after another.
struct FloatSpan {
  const unsigned char* data;
  FloatType type;
};

struct GroupCodes {
  int bits;  // 3, 4 or 8
  int size;  // weights of a group: a multiple of 8 and of 32 / bits, at most kMaxGroup
};
constexpr int kMaxGroup = 64;

constexpr int kFloat8Block = 128;

// An 8-bit float: its bits are `sign`, `exponent`, `mantissa` without infinity below `largest`.
struct Float8Kind {
  int mantissa;
  int bias;
  float largest;
};

struct WeightMath {
  // The largest magnitude; infinity or NaN if one of the values is.
  float (*largest)(FloatSpan from, size_t count);

  // Rounds to the nearest, to the even one of two. False if a result is not finite.
  bool (*cast)(FloatSpan from, size_t count, FloatType type, unsigned char* to);

  // Rows of `columns` weights -> words (rows, groups * words of a group) and scales (rows, groups)
  // in `type`, in which all arithmetic is done. A scale is infinite if a weight is beyond `type`.
  void (*groups)(FloatSpan from, size_t rows, size_t columns, GroupCodes codes, FloatType type,
                 uint32_t* words, unsigned char* scales);

  // Weights, rounded to `via`, divided by `scale`, and rounded.
  void (*float8)(FloatSpan from, size_t count, FloatType via, float scale, Float8Kind kind,
                 uint8_t* codes);

  // At most kFloat8Block rows, rounded to bfloat16 -> codes, and the scale of each block.
  void (*float8_blocks)(FloatSpan from, size_t rows, size_t columns, Float8Kind kind,
                        uint8_t* codes, float* scales);
};

// For this CPU; `baseline`: for any.
const WeightMath& WeightKernels(bool baseline = false);

}  // namespace mlc
