#include "runtime/weight_index.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/json.h"

namespace mlc {
namespace {

Result<Shape> ParseShape(const Json& record) {
  const Json* shape = record.Find("shape");
  if (shape == nullptr || !shape->is_array() || shape->as_array().size() > 8) {
    return Corrupt("field 'shape' must be a list of integers");
  }
  Shape out;
  for (const Json& extent : shape->as_array()) {
    if (!extent.is_int() || extent.as_int() < 0) return Corrupt("field 'shape' is not a shape");
    out.push_back(extent.as_int());
  }
  return out;
}

// 8-bit floats are bytes here; only kernels interpret them.
std::optional<DType> StoredDType(std::string_view name) {
  if (name == "float8_e4m3fn" || name == "float8_e5m2") return DType::kUInt8;
  return ParseDType(name);
}

Result<WeightRecord> ParseRecord(const Json& json, const std::string& shard) {
  WeightRecord record{shard, {}, DType::kFloat32, false, 0, 0};
  MLC_ASSIGN_OR_RETURN(record.shape, ParseShape(json));
  MLC_ASSIGN_OR_RETURN(std::string dtype, GetString(json, "dtype"));
  MLC_ASSIGN_OR_RETURN(std::string format, GetStringOr(json, "format", "raw"));
  MLC_ASSIGN_OR_RETURN(record.offset, GetInt(json, "byteOffset"));
  MLC_ASSIGN_OR_RETURN(record.bytes, GetInt(json, "nbytes"));
  std::optional<DType> known = StoredDType(dtype);
  if (!known) return Corrupt("unknown dtype '" + dtype + "'");
  record.dtype = *known;
  record.stored_as_bf16 = format == "f32-to-bf16" && *known == DType::kFloat32;
  if (format != "raw" && format != "f32-to-bf16") return Corrupt("unknown format '" + format + "'");
  DType stored = record.stored_as_bf16 ? DType::kBFloat16 : *known;
  if (TensorBytes(record.shape, stored) != record.bytes || record.offset < 0) {
    return Corrupt("'nbytes' or 'byteOffset' does not fit shape " + ShapeText(record.shape) +
                   " of " + dtype);
  }
  return record;
}

using Place = std::tuple<int64_t, int64_t, std::string>;  // offset, bytes and name of a tensor

// Where tensors share bytes, an offset is damaged.
Status CheckApart(std::vector<Place> places) {
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i) {
    const auto& [offset, bytes, name] = places[i - 1];
    if (std::get<0>(places[i]) - offset >= bytes) continue;
    return Corrupt("tensors '" + name + "' and '" + std::get<2>(places[i]) + "' share bytes");
  }
  return Status();
}

Status ParseShard(const Json& json, WeightRecords* records) {
  MLC_ASSIGN_OR_RETURN(std::string path, GetString(json, "dataPath"));
  const Json* list = json.Find("records");
  if (list == nullptr || !list->is_array()) return Corrupt("field 'records' must be a list");
  std::vector<Place> places;
  for (const Json& item : list->as_array()) {
    MLC_ASSIGN_OR_RETURN(std::string name, GetString(item, "name"));
    Result<WeightRecord> record = ParseRecord(item, path);
    if (!record.ok()) return std::move(record).status().In("tensor '" + name + "'");
    places.emplace_back(record->offset, record->bytes, name);
    records->insert_or_assign(name, std::move(record).value());
  }
  return CheckApart(std::move(places));
}

Result<WeightRecords> ParseIndex(std::string_view text) {
  MLC_ASSIGN_OR_RETURN(Json json, Json::Parse(text));
  const Json* shards = json.Find("records");
  if (shards == nullptr || !shards->is_array()) return Corrupt("field 'records' must be a list");
  WeightRecords records;
  for (const Json& shard : shards->as_array()) MLC_RETURN_IF_ERROR(ParseShard(shard, &records));
  return records;
}

// Every error in the index means that the file is damaged.
Status AsCorrupt(const Status& status, const std::string& path) {
  return Corrupt(path + ": " + status.message() + "; convert or download the weights again")
      .WithParam(status.param());
}

}  // namespace

Result<WeightIndex> ReadWeightIndex(const ByteSource& source) {
  const char* name = source.Has("tensor-cache.json") ? "tensor-cache.json" : "ndarray-cache.json";
  if (!source.Has(name)) {
    return NotFound(source.Describe("tensor-cache.json") +
                    ": no such file; the folder holds no weights (`mlc_llm convert_weight` writes "
                    "them)")
        .WithReason(Reason::kFileNotFound);
  }
  MLC_ASSIGN_OR_RETURN(Bytes bytes, source.Open(name));
  Result<WeightRecords> records = ParseIndex(bytes.text());
  if (!records.ok()) return AsCorrupt(records.status(), source.Describe(name));
  return WeightIndex{HexText(Fnv1a(bytes.text())), std::move(records).value()};
}

}  // namespace mlc
