// Matrices in the order in which kernels of CPUs read them.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runtime/tensor.h"

namespace mlc {

// A matrix, or a stack of matrices, of which a library reads the same place of 16 outputs together:
// [..., strips, places, 16]. The weights have [..., outputs, places] (axis 0) or [..., places,
// outputs] (axis 1). The last strip is padded with zeros.
struct Strips {
  static constexpr int64_t kRows = 16;
  static constexpr int64_t kWordsOfThrees = 4;  // of a group of 40 codes
  // What becomes of the elements. kThrees: each word has ten codes of 3 bits, which are laid out so
  // that bytes have them (mlc_llm/compiler/kernels/cpu/threes.py). kHalves: float32 in the weights
  // is rounded to float16.
  enum class Change { kNone, kThrees = 3, kHalves = 16 };
  int64_t outputs;
  int axis;
  Change change = Change::kNone;
};

// Whether a tensor of that shape and type has these strips; otherwise what is wrong.
Status CheckStrips(const Strips& strips, const Shape& shape, DType dtype);

// The shape and type of the tensor in the weights, of one that has these in the library.
Shape ShapeBeforeStrips(const Strips& strips, const Shape& shape);
DType DTypeBeforeStrips(const Strips& strips, DType dtype);

// Writes the elements of `laid_out`. Both tensors are on the host, and shapes and types fit. False
// if a number is too large for float16.
bool LayInStrips(const Tensor& stored, const Strips& strips, Tensor* laid_out);

}  // namespace mlc
