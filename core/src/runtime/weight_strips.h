// Matrices in the order in which kernels of CPUs read them.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runtime/tensor.h"

namespace mlc {

// A matrix, or a stack of matrices, of which a library reads the same place of 16 outputs together:
// [..., strips, places, 16]. The weights have [..., outputs, places] (axis 0) or [..., places,
// outputs] (axis 1). The last strip is padded with zeros. `threes`: each word has ten codes of 3
// bits, which are laid out so that bytes have them (mlc_llm/compiler/kernels/cpu/threes.py).
struct Strips {
  static constexpr int64_t kRows = 16;
  static constexpr int64_t kWordsOfThrees = 4;  // of a group of 40 codes
  int64_t outputs;
  int axis;
  bool threes = false;
};

// Whether a tensor of that shape and type has these strips; otherwise what is wrong.
Status CheckStrips(const Strips& strips, const Shape& shape, DType dtype);

// The shape of the tensor in the weights, of one whose shape in the library is `shape`.
Shape ShapeBeforeStrips(const Strips& strips, const Shape& shape);

// Writes the elements of `laid_out`. Both tensors are on the host, and their shapes fit.
void LayInStrips(const Tensor& stored, const Strips& strips, Tensor* laid_out);

}  // namespace mlc
