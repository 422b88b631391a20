// What a model library wants of the weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/tensor.h"
#include "runtime/weight_parts.h"
#include "runtime/weight_strips.h"

namespace mlc {

// How shards share a parameter: of each run along `axis`, shard r has the `count` places from
// first + r * count on, or all shards have those from `first` on. Without runs the first shard has
// the parameter, and the others have zeros.
struct Shares {
  struct Run {
    int64_t first, count;
    bool on_all = false;
  };
  int num_shards = 1;
  int axis = 0;
  std::vector<Run> runs;

  // Of the stored tensor, along the axis.
  int64_t Extent() const;
};

// A parameter of a model library: a tensor, or some of its rows (axis 0) or columns (axis 1) if the
// tensor is too large for a device. A library may read the bytes as another type than the stored
// one, along the last axis: float16 [8, 16] as uint32 [8, 8].
struct ParamSpec {
  std::string name;
  Shape shape;
  DType dtype;
  // shape[axis] of `extent` elements, from `first` on; extent 0: the whole tensor
  int64_t first = 0, extent = 0;
  int axis = 0;
  std::optional<DType> stored_dtype;  // of the stored weights, if `dtype` is how it is read
  std::optional<StoredParts> parts;   // what the tensor is made of, if it is not stored as it is
  std::optional<Strips> strips;       // how it is laid out at last; only on the CPU
  std::optional<Shares> shares;       // then the rest says what one of the shards has
  bool is_zero = false;               // it is not stored
  bool by_rows = false;               // steps read single rows of it; only on the CPU
  // What the parameter of one of `num_shards` shards is in a folder whose weights MLC-LLM divided:
  // a tensor of this name; "": not that parameter of a shard.
  std::string own_name;
  int num_shards = 1;
};

// The shape and type of the whole stored tensor, of which a parameter is all or a part. Strips may
// have another type than the tensor.
Shape StoredShape(const ParamSpec& spec);
DType StoredDType(const ParamSpec& spec);

// The same parameter as it is before it is laid out.
ParamSpec BeforeStrips(ParamSpec spec);

// What shard `rank` loads for the parameters: they have no `shares` then. Errors: kUnsupported.
Result<std::vector<ParamSpec>> ParamsOfShard(std::vector<ParamSpec> specs, int rank);

// What MLC-LLM's converter calls a shard's part of a tensor (its `preshard.py`).
std::string NameOfPart(const std::string& tensor, int rank);

}  // namespace mlc
