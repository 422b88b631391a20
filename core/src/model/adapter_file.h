// The file of an adapter that requests may choose (docs/adapters.md, "The file"), and the layers of
// a model that take one.
//
// It has the layout of safetensors: for each layer "NAME.a" and "NAME.b", float32, in groups of 8
// ranks, as the pool of adapters has them.
//
//   MLC_ASSIGN_OR_RETURN(AdapterWeights weights, ReadAdapter("style.mlc-adapter", *info.adapters));
//   MLC_RETURN_IF_ERROR(model->WriteAdapter(groups, weights));
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/tensor.h"

namespace mlc {

// The weights of a group of ranks in the pool.
struct AdapterTensor {
  Shape shape;
  DType dtype;
};

// A linear layer. Its outputs are in parts, each with an A of its own.
struct AdapterLayer {
  std::string name;
  int64_t inputs = 0;
  std::vector<int64_t> outputs;
  // Where the layer multiplies integers: how many inputs have one scale, and how far the four
  // inputs of a quad are from one another (model/adapter_codes.h). 0: adapters are floats.
  int64_t group = 0, step = 1;

  // Of A and B of a group of ranks in the file.
  std::vector<Shape> shapes() const;
};

struct AdapterSpec {
  static constexpr int kRanks = 8;   // of a group
  static constexpr int kLanes = 16;  // inputs, or outputs, that are together in memory
  DType dtype = DType::kFloat32;     // of floats in the pool
  std::vector<AdapterLayer> layers;

  // A and B of each layer.
  std::vector<AdapterTensor> tensors() const;

  int64_t group_bytes() const;  // in the pool, all layers
};

// The weights of an adapter in the form of the pool.
struct AdapterWeights {
  int rank = 0, num_groups = 0;
  uint64_t hash = 0;  // of the file
  // A and B of each layer, in the order of the spec: all groups. Empty: the layer stays as it is.
  std::vector<std::vector<char>> tensors;
};

// Errors, of param `path`: kNotFound; kCorrupt; kInvalidArgument when the adapter belongs to
// another model; kUnsupported for numbers that do not fit the pool's type.
Result<AdapterWeights> ReadAdapter(const std::string& path, const AdapterSpec& spec);

}  // namespace mlc
