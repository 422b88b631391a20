// Reads the parameters in a library's metadata (docs/model-library.md).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "model/model.h"
#include "runtime/weights.h"

namespace mlc {

// A field of positive integers, and the name of a type.
Result<Shape> ReadShape(const Json& object, std::string_view key);
Result<DType> ReadDType(const Json& object, std::string_view key);

// The field "tensor_parallel_shards": how many shards compute each layer together.
Result<int> ReadNumShards(const Json& metadata);

// The field "params". Adds their bytes to `weight_bytes`, those of tables that are read by rows and
// stay in their files to `table_bytes`. Errors: kInvalidArgument naming a parameter or a field,
// kUnsupported for a library of a newer compiler.
Result<std::vector<ParamSpec>> ReadParams(const Json& json, int64_t* weight_bytes,
                                          int64_t* table_bytes);

// Counts the tables among the weights that do not stay in the files of this folder: what it has in
// bfloat16, and the library takes as float32, is widened in memory. Without an index nothing
// changes.
void CountWidenedTables(const ByteSource& source, const std::vector<ParamSpec>& params,
                        ModelInfo* info);

}  // namespace mlc
