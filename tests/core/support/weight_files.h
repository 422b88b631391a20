// The files of weights, and what is in tensors.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/json.h"
#include "runtime/tensor.h"

namespace mlc::testing {

inline Json Record(const std::string& name, const std::string& dtype, const std::string& format,
                   const std::vector<int64_t>& shape, int64_t offset, int64_t bytes) {
  Json extents = Json::MakeArray();
  for (int64_t extent : shape) extents.Append(extent);
  return Json()
      .Set("name", name)
      .Set("shape", extents)
      .Set("dtype", dtype)
      .Set("format", format)
      .Set("nbytes", bytes)
      .Set("byteOffset", offset);
}

inline Json Shard(const std::string& path, const std::vector<Json>& records) {
  return Json()
      .Set("dataPath", path)
      .Set("format", "raw-shard")
      .Set("nbytes", 0)
      .Set("records", Json(Json::Array(records)));
}

inline std::string Index(const std::vector<Json>& shards) {
  return Json()
      .Set("metadata", Json::MakeObject())
      .Set("records", Json(Json::Array(shards)))
      .Dump();
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <typename T>
std::vector<T> ValuesOf(const Tensor& tensor) {
  std::vector<T> values(static_cast<size_t>(tensor.bytes()) / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace mlc::testing
