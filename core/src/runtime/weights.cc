#include "runtime/weights.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/hash.h"
#include "base/json.h"

namespace mlc {
namespace {

constexpr uintptr_t kWeightAlignment = 64;
// How much of a weight is in memory at a time where files are not mapped.
constexpr int64_t kPartBytes = int64_t{4} << 20;

// One tensor, as tensor-cache.json describes it.
struct Record {
  std::string shard;
  Shape shape;
  DType dtype;
  bool stored_as_bf16;  // float32 in memory; the file has its upper 16 bits
  int64_t offset, bytes;
};
using Records = std::unordered_map<std::string, Record>;

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

Result<Record> ParseRecord(const Json& json, const std::string& shard) {
  Record record{shard, {}, DType::kFloat32, false, 0, 0};
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

Status ParseShard(const Json& json, Records* records) {
  MLC_ASSIGN_OR_RETURN(std::string path, GetString(json, "dataPath"));
  const Json* list = json.Find("records");
  if (list == nullptr || !list->is_array()) return Corrupt("field 'records' must be a list");
  for (const Json& item : list->as_array()) {
    MLC_ASSIGN_OR_RETURN(std::string name, GetString(item, "name"));
    Result<Record> record = ParseRecord(item, path);
    if (!record.ok()) return std::move(record).status().In("tensor '" + name + "'");
    records->insert_or_assign(name, std::move(record).value());
  }
  return Status();
}

Result<Records> ParseIndex(std::string_view text) {
  MLC_ASSIGN_OR_RETURN(Json json, Json::Parse(text));
  const Json* shards = json.Find("records");
  if (shards == nullptr || !shards->is_array()) return Corrupt("field 'records' must be a list");
  Records records;
  for (const Json& shard : shards->as_array()) MLC_RETURN_IF_ERROR(ParseShard(shard, &records));
  return records;
}

// Every error in the index means that the file is damaged.
Status AsCorrupt(const Status& status, const std::string& path) {
  return Corrupt(path + ": " + status.message() + "; convert or download the weights again")
      .WithParam(status.param());
}

struct Index {
  std::string path;
  Bytes bytes;
};

Result<Index> OpenIndex(const ByteSource& source) {
  const char* name = source.Has("tensor-cache.json") ? "tensor-cache.json" : "ndarray-cache.json";
  if (!source.Has(name)) {
    return NotFound(source.Describe("tensor-cache.json") +
                    ": no such file; the folder holds no weights (`mlc_llm convert_weight` writes "
                    "them)")
        .WithReason(Reason::kFileNotFound);
  }
  MLC_ASSIGN_OR_RETURN(Bytes bytes, source.Open(name));
  return Index{source.Describe(name), std::move(bytes)};
}

Result<Records> ReadIndex(const ByteSource& source) {
  MLC_ASSIGN_OR_RETURN(Index index, OpenIndex(source));
  Result<Records> records = ParseIndex(index.bytes.text());
  if (!records.ok()) return AsCorrupt(records.status(), index.path);
  return records;
}

// Some columns of a matrix, in the stored layout: row after row.
std::vector<uint8_t> ColumnsOf(const Record& record, const ParamSpec& spec, const uint8_t* data) {
  int64_t row_bytes = record.bytes / record.shape[0], column_bytes = row_bytes / spec.extent;
  int64_t begin = spec.first * column_bytes, width = spec.shape[1] * column_bytes;
  std::vector<uint8_t> columns;
  columns.reserve(static_cast<size_t>(record.shape[0] * width));
  for (int64_t row = 0; row < record.shape[0]; ++row) {
    const uint8_t* from = data + row * row_bytes + begin;
    columns.insert(columns.end(), from, from + width);
  }
  return columns;
}

class Loader {
 public:
  Loader(const ByteSource& source, Device device) : source_(source), device_(device) {}

  // `record` describes the stored tensor; `spec` describes the wanted one.
  Result<Tensor> Load(const Record& record, const ParamSpec& spec) {
    bool is_on_device = device_.type != Device{}.type;
    bool is_stored_so = spec.extent == 0 && !record.stored_as_bf16;
    if (!kMapsFiles && is_on_device && is_stored_so) return LoadByParts(record, spec);
    MLC_ASSIGN_OR_RETURN(Bytes stored, Whole(record));
    return Cut(record, spec, stored.data, stored.owner);
  }

  // A tensor that is made of others. `records`: of each part and of its scales, in order.
  Result<Tensor> Join(const std::vector<Record>& records, const ParamSpec& spec) {
    DType dtype = spec.stored_dtype.value_or(spec.dtype);
    bool is_all = spec.extent == 0 && dtype == spec.dtype;
    Shape whole = StoredShape(spec);
    MLC_ASSIGN_OR_RETURN(Tensor made, Tensor::Empty(whole, dtype, Device{}));
    std::vector<Bytes> open;
    std::vector<PartBytes> parts;
    auto record = records.begin();
    for (const StoredPart& part : spec.parts->parts) {
      PartBytes& bytes = parts.emplace_back();
      MLC_ASSIGN_OR_RETURN(open.emplace_back(), Widened(*record++));
      bytes.data = open.back().data;
      if (part.scales.empty()) continue;
      MLC_ASSIGN_OR_RETURN(open.emplace_back(), Widened(*record++));
      bytes.scales = open.back().data;
    }
    JoinParts(*spec.parts, parts, &made);
    if (is_all && device_.type == Device{}.type) return made;
    Record stored{"", whole, dtype, /*stored_as_bf16=*/false, 0, made.bytes()};
    return Cut(stored, spec, static_cast<const uint8_t*>(made.data()), /*owner=*/nullptr);
  }

  // The mapped files that tensors refer to.
  MappedFiles TakeFiles() {
    MappedFiles files;
    for (auto& [name, shard] : shards_) {
      if (used_.count(name) > 0 && shard.file != nullptr) files.push_back(std::move(shard.file));
    }
    return files;
  }

 private:
  Status CutOff(const Record& record, int64_t bytes) const {
    return Corrupt(source_.Describe(record.shard) + ": must hold " + std::to_string(record.bytes) +
                   " bytes from byte " + std::to_string(record.offset) + " on, and holds " +
                   std::to_string(bytes) +
                   ": it was cut off; convert or download the weights again");
  }

  // A tensor of a device, which is never whole in memory here.
  Result<Tensor> LoadByParts(const Record& record, const ParamSpec& spec) {
    MLC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Empty(spec.shape, spec.dtype, device_));
    for (int64_t begin = 0; begin < record.bytes; begin += kPartBytes) {
      int64_t size = std::min(kPartBytes, record.bytes - begin);
      MLC_ASSIGN_OR_RETURN(Bytes part, source_.OpenPart(record.shard, record.offset + begin, size));
      if (part.size < size) return CutOff(record, begin + part.size);
      MLC_RETURN_IF_ERROR(tensor.Write(begin, part.data, size));
    }
    return tensor;
  }

  // The wanted part of the stored tensor `data`.
  Result<Tensor> Cut(const Record& record, const ParamSpec& spec, const uint8_t* data,
                     const std::shared_ptr<void>& owner) {
    Record part = record;
    part.shape = spec.shape;
    part.dtype = spec.dtype;
    if (spec.extent == 0) return Place(part, data, owner);
    if (spec.axis == 0) {
      int64_t row_bytes = record.bytes / spec.extent;
      part.bytes = spec.shape[0] * row_bytes;
      return Place(part, data + spec.first * row_bytes, owner);
    }
    std::vector<uint8_t> columns = ColumnsOf(record, spec, data);
    part.bytes = static_cast<int64_t>(columns.size());
    return Place(part, columns.data(), /*owner=*/nullptr);
  }

  // The tensor of `data`. Copies the data if it has no owner.
  Result<Tensor> Place(const Record& record, const uint8_t* data,
                       const std::shared_ptr<void>& owner) {
    if (record.stored_as_bf16) return Widen(record, data);
    bool aligned = reinterpret_cast<uintptr_t>(data) % kWeightAlignment == 0;
    if (device_.type == Device{}.type && aligned && owner != nullptr) {
      used_.insert(record.shard);
      return Tensor::View(const_cast<uint8_t*>(data), record.shape, record.dtype, owner);
    }
    MLC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Empty(record.shape, record.dtype, device_));
    MLC_RETURN_IF_ERROR(tensor.Write(0, data, record.bytes));
    return tensor;
  }

  // All bytes of a tensor, as they are stored.
  Result<Bytes> Whole(const Record& record) {
    MLC_ASSIGN_OR_RETURN(Bytes stored, Stored(record));
    if (stored.size < record.bytes) return CutOff(record, stored.size);
    return stored;
  }

  // The same as they are in memory, on the host.
  Result<Bytes> Widened(const Record& record) {
    MLC_ASSIGN_OR_RETURN(Bytes stored, Whole(record));
    if (!record.stored_as_bf16) return stored;
    MLC_ASSIGN_OR_RETURN(Tensor wide, WidenOnHost(record, stored.data));
    auto kept = std::make_shared<Tensor>(wide);
    return Bytes{static_cast<const uint8_t*>(wide.data()), wide.bytes(), kept};
  }

  // The bytes of a tensor in its shard; fewer if the shard was cut off.
  Result<Bytes> Stored(const Record& record) {
    if (!kMapsFiles) return source_.OpenPart(record.shard, record.offset, record.bytes);
    MLC_ASSIGN_OR_RETURN(const Bytes* shard, Shard(record.shard));
    int64_t begin = std::min(record.offset, shard->size);
    return Bytes{shard->data + begin, std::min(record.bytes, shard->size - begin), shard->owner,
                 shard->file};
  }

  Result<const Bytes*> Shard(const std::string& name) {
    auto found = shards_.find(name);
    if (found == shards_.end()) {
      MLC_ASSIGN_OR_RETURN(Bytes bytes, source_.Open(name));
      found = shards_.emplace(name, std::move(bytes)).first;
    }
    return &found->second;
  }

  Result<Tensor> WidenOnHost(const Record& record, const uint8_t* data) {
    MLC_ASSIGN_OR_RETURN(Tensor wide, Tensor::Empty(record.shape, record.dtype, Device{}));
    uint32_t* out = static_cast<uint32_t*>(wide.data());
    for (int64_t i = 0; i < record.bytes / 2; ++i) {
      out[i] = static_cast<uint32_t>(data[2 * i]) << 16 | static_cast<uint32_t>(data[2 * i + 1])
                                                              << 24;
    }
    return wide;
  }

  Result<Tensor> Widen(const Record& record, const uint8_t* data) {
    MLC_ASSIGN_OR_RETURN(Tensor wide, WidenOnHost(record, data));
    if (device_.type == Device{}.type) return wide;
    MLC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Empty(record.shape, record.dtype, device_));
    MLC_RETURN_IF_ERROR(tensor.Write(0, wide.data(), wide.bytes()));
    return tensor;
  }

  const ByteSource& source_;
  Device device_;
  std::unordered_map<std::string, Bytes> shards_;
  std::set<std::string> used_;  // the shards that tensors refer to
};

// The record of a stored tensor, if it has that shape and type.
Result<Record> Find(const Records& records, const std::string& name, const Shape& whole,
                    DType dtype) {
  auto found = records.find(name);
  if (found == records.end()) {
    return InvalidArgument("the weights have no tensor '" + name +
                           "', which the model library needs: they belong to another model or "
                           "quantization; compile a library for this one (mlc_llm compile)")
        .WithParam("model_lib");
  }
  const Record& record = found->second;
  if (record.shape != whole || record.dtype != dtype) {
    return InvalidArgument("tensor '" + name + "' is " + DTypeName(record.dtype) +
                           ShapeText(record.shape) + " in the weights and " + DTypeName(dtype) +
                           ShapeText(whole) +
                           " in the model library: they belong to different models or "
                           "quantizations; compile a library for this one (mlc_llm compile)")
        .WithParam("model_lib");
  }
  return record;
}

// The number of factors of a matrix of 8-bit floats, along each axis.
Shape ScalesShape(Shape shape) {
  for (size_t i = shape.size() - 2; i < shape.size(); ++i) shape[i] = (shape[i] + 127) / 128;
  return shape;
}

Result<Tensor> LoadParam(const Records& records, const ParamSpec& spec, Loader* loader) {
  if (!spec.parts) {
    DType dtype = spec.stored_dtype.value_or(spec.dtype);
    MLC_ASSIGN_OR_RETURN(Record record, Find(records, spec.name, StoredShape(spec), dtype));
    return loader->Load(record, spec);
  }
  std::vector<Record> found;
  for (const StoredPart& part : spec.parts->parts) {
    MLC_ASSIGN_OR_RETURN(found.emplace_back(), Find(records, part.name, part.shape, part.dtype));
    if (part.scales.empty()) continue;
    MLC_ASSIGN_OR_RETURN(found.emplace_back(),
                         Find(records, part.scales, ScalesShape(part.shape), DType::kFloat32));
  }
  return loader->Join(found, spec);
}

}  // namespace

Shape StoredShape(const ParamSpec& spec) {
  Shape whole = spec.shape;
  if (spec.extent > 0) whole[static_cast<size_t>(spec.axis)] = spec.extent;
  if (spec.stored_dtype) {
    whole.back() *= *TensorBytes({1}, spec.dtype) / *TensorBytes({1}, *spec.stored_dtype);
  }
  return whole;
}

Result<std::string> WeightsId(const ByteSource& source) {
  MLC_ASSIGN_OR_RETURN(Index index, OpenIndex(source));
  return HexText(Fnv1a(index.bytes.text()));
}

Result<std::vector<Tensor>> LoadWeights(const ByteSource& source,
                                        const std::vector<ParamSpec>& wanted, Device device,
                                        const LoadProgress& progress, MappedFiles* files) {
  MLC_ASSIGN_OR_RETURN(Records records, ReadIndex(source));
  Loader loader(source, device);
  std::vector<Tensor> tensors;
  for (const ParamSpec& spec : wanted) {
    if (progress && !progress(static_cast<double>(tensors.size()) / wanted.size())) {
      return Cancelled("loading was cancelled");
    }
    Result<Tensor> tensor = LoadParam(records, spec, &loader);
    if (!tensor.ok() && tensor.status().code() == StatusCode::kResourceExhausted) {
      return std::move(tensor).status().In("tensor '" + spec.name + "'");
    }
    MLC_RETURN_IF_ERROR(tensor.status());
    tensors.push_back(std::move(tensor).value());
  }
  if (files != nullptr) *files = loader.TakeFiles();
  return tensors;
}

}  // namespace mlc
