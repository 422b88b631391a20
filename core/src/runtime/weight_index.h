// The index of the weights in an -MLC folder.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/status.h"
#include "runtime/byte_source.h"
#include "runtime/tensor.h"

namespace mlc {

// One tensor, as tensor-cache.json describes it.
struct WeightRecord {
  std::string shard;
  Shape shape;
  DType dtype;
  bool stored_as_bf16;  // float32 in memory; the file has its upper 16 bits
  int64_t offset, bytes;
};
using WeightRecords = std::unordered_map<std::string, WeightRecord>;

struct WeightIndex {
  std::string id;  // of the weights: a hash of the index, which contains the hashes of the shards
  WeightRecords records;  // of all tensors, by name
};

// Errors: kNotFound if the source holds no weights, kCorrupt for a damaged index.
Result<WeightIndex> ReadWeightIndex(const ByteSource& source);

}  // namespace mlc
