// Makes a tensor of a model library from tensors that MLC-LLM's converter stores otherwise: apart,
// with the rows in another order, transposed, or before a change that our converter makes.
//
//   Shape whole = {6, 4};
//   StoredParts stored{{{"q_proj.weight", {4, 4}}, {"k_proj.weight", {2, 4}}}};
//   JoinParts(stored, {q_bytes, k_bytes}, &tensor);   // rows of q, then rows of k
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/tensor.h"

namespace mlc {

// Places along an axis: nested loops, the outermost first. {5, {{2, 10}, {3, 1}}} is 5 6 7 15
// 16 17.
struct RowRun {
  struct Level {
    int64_t count = 0, step = 0;
  };
  int64_t first = 0;
  std::vector<Level> levels;
};

// A stored tensor, or some places of its joined axis in some order.
struct StoredPart {
  std::string name;
  Shape shape;
  DType dtype = DType::kFloat32;  // 8-bit floats: kUInt8
  std::vector<RowRun> rows;       // empty: all
  std::string scales;  // float8_e4m3fn: the tensor with a factor for each block of 128 x 128
};

// What a parameter is of the joined parts: the last two axes exchanged; w + 1; -exp(w);
// log(-log(w)). All but the first and a change of the type need one whole part.
enum class PartChange { kNone, kTransposed, kPlusOne, kMinusExp, kLogMinusLog };

struct StoredParts {
  std::vector<StoredPart> parts;
  int axis = 0;  // along which parts are joined
  PartChange change = PartChange::kNone;
};

// The bytes of a part, and of its scales (float32). They lie in a file, so neither is aligned.
struct PartBytes {
  const uint8_t* data = nullptr;
  const uint8_t* scales = nullptr;
};

// Whether the parts make a tensor of that shape and type; otherwise what is wrong, naming the part.
Status CheckParts(const StoredParts& stored, const Shape& shape, DType dtype);

// Writes the elements of a tensor on the host, for which CheckParts is ok. `bytes`: of each part.
void JoinParts(const StoredParts& stored, const std::vector<PartBytes>& bytes, Tensor* out);

}  // namespace mlc
