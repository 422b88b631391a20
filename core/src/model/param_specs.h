// Reads the parameters in a library's metadata (docs/model-library.md).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "runtime/weights.h"

namespace mlc {

// A field of positive integers, and the name of a type.
Result<Shape> ReadShape(const Json& object, std::string_view key);
Result<DType> ReadDType(const Json& object, std::string_view key);

// The field "tensor_parallel_shards": how many shards compute each layer together.
Result<int> ReadNumShards(const Json& metadata);

// The field "params". Adds their bytes to `weight_bytes`, those of tables that are read by rows to
// `table_bytes`. Errors: kInvalidArgument naming a parameter or a field, kUnsupported for a library
// of a newer compiler.
Result<std::vector<ParamSpec>> ReadParams(const Json& json, int64_t* weight_bytes,
                                          int64_t* table_bytes);

}  // namespace mlc
