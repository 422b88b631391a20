// Weights from an -MLC folder: tensor-cache.json (or the older ndarray-cache.json) and its shards.
#ifndef MLC_RUNTIME_WEIGHTS_H_
#define MLC_RUNTIME_WEIGHTS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/byte_source.h"
#include "runtime/tensor.h"

namespace mlc {

// Tells weights apart: a hash of their index, which holds the shards' own hashes.
Result<std::string> WeightsId(const ByteSource& source);

// What a model library asks for: a tensor, or some of its rows (axis 0) or columns (axis 1) where
// it is too large for a device. A library may take the bytes as another type than the weights store
// them in, along the last axis: float16 [8, 16] as uint32 [8, 8].
struct ParamSpec {
  std::string name;
  Shape shape;
  DType dtype;
  int64_t first = 0, extent = 0;  // shape[axis] of them from there, of so many; 0: the whole tensor
  int axis = 0;
  std::optional<DType> stored_dtype;  // of the weights, where it is another one than `dtype`
};

// Called with 0.0 .. 1.0; false cancels the load (kCancelled).
using LoadProgress = std::function<bool(double fraction)>;

// The tensors in the order of `wanted`. On the CPU one that lies aligned in its shard refers to the
// mapped file; others are copied. Every record is checked: paths stay in the folder, ranges in the
// shard, sizes fit shapes. Errors: kNotFound for a missing file, kCorrupt for a damaged one,
// kInvalidArgument for weights that are another model's, kResourceExhausted; each names the file or
// the tensor.
Result<std::vector<Tensor>> LoadWeights(const ByteSource& source,
                                        const std::vector<ParamSpec>& wanted, Device device,
                                        const LoadProgress& progress);

}  // namespace mlc

#endif  // MLC_RUNTIME_WEIGHTS_H_
