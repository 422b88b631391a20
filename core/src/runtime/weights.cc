#include "runtime/weights.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "platform/memory.h"
#include "runtime/kept_strips.h"
#include "runtime/weight_index.h"

namespace mlc {
namespace {

constexpr int64_t kWeightAlignment = 64;
// How much of a weight is in memory at a time where files are not mapped.
constexpr int64_t kPartBytes = int64_t{4} << 20;
constexpr int64_t kSmallBytes = int64_t{64} << 10;  // below it a copy saves memory

// Some columns of a matrix, in the stored layout: row after row.
std::vector<uint8_t> ColumnsOf(const WeightRecord& record, const ParamSpec& spec,
                               const uint8_t* data) {
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
  // `copies_small`: strips come from their own file, so often only small tensors would keep a shard
  // mapped, each of them up to 2 MB.
  Loader(const ByteSource& source, Device device, bool copies_small)
      : source_(source), device_(device), copies_small_(copies_small) {}

  // `record` describes the stored tensor; `spec` describes the wanted one.
  Result<Tensor> Load(const WeightRecord& record, const ParamSpec& spec) {
    bool is_on_device = device_.type != Device{}.type;
    bool is_stored_so = spec.extent == 0 && !record.stored_as_bf16;
    if (!kMapsFiles && is_on_device && is_stored_so) return LoadByParts(record, spec);
    MLC_ASSIGN_OR_RETURN(Bytes stored, Whole(record));
    bool is_copied = copies_small_ && record.bytes < kSmallBytes;
    return Cut(record, spec, stored.data, is_copied ? nullptr : stored.owner);
  }

  // A tensor that is made of others. `records`: of each part and of its scales, in order.
  Result<Tensor> Join(const std::vector<WeightRecord>& records, const ParamSpec& spec) {
    DType dtype = StoredDType(spec);
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
    WeightRecord stored{"", whole, dtype, /*stored_as_bf16=*/false, 0, made.bytes()};
    return Cut(stored, spec, static_cast<const uint8_t*>(made.data()), /*owner=*/nullptr);
  }

  // Whether a tensor refers to a mapped file.
  bool IsMapped(const Tensor& tensor) const {
    if (!tensor.on_host()) return false;
    auto* data = static_cast<const uint8_t*>(tensor.data());
    return std::any_of(used_.begin(), used_.end(), [&](const std::string& name) {
      const Bytes& shard = shards_.at(name);
      return shard.file != nullptr && data >= shard.data && data < shard.data + shard.size;
    });
  }

  // Lets the system take the pages that were read.
  void DropFiles() const {
    for (const auto& [name, shard] : shards_) {
      if (shard.file != nullptr) shard.file->Drop();
    }
  }

  // The mapped files that tensors refer to.
  std::vector<std::shared_ptr<MappedFile>> TakeFiles() {
    std::vector<std::shared_ptr<MappedFile>> files;
    for (auto& [name, shard] : shards_) {
      if (used_.count(name) > 0 && shard.file != nullptr) files.push_back(std::move(shard.file));
    }
    return files;
  }

 private:
  Status CutOff(const WeightRecord& record, int64_t bytes) const {
    return Corrupt(source_.Describe(record.shard) + ": must hold " + std::to_string(record.bytes) +
                   " bytes from byte " + std::to_string(record.offset) + " on, and holds " +
                   std::to_string(bytes) +
                   ": it was cut off; convert or download the weights again");
  }

  // A tensor of a device, which is never whole in memory here.
  Result<Tensor> LoadByParts(const WeightRecord& record, const ParamSpec& spec) {
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
  Result<Tensor> Cut(const WeightRecord& record, const ParamSpec& spec, const uint8_t* data,
                     const std::shared_ptr<void>& owner) {
    WeightRecord part = record;
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
  Result<Tensor> Place(const WeightRecord& record, const uint8_t* data,
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
  Result<Bytes> Whole(const WeightRecord& record) {
    MLC_ASSIGN_OR_RETURN(Bytes stored, Stored(record));
    if (stored.size < record.bytes) return CutOff(record, stored.size);
    return stored;
  }

  // The same as they are in memory, on the host.
  Result<Bytes> Widened(const WeightRecord& record) {
    MLC_ASSIGN_OR_RETURN(Bytes stored, Whole(record));
    if (!record.stored_as_bf16) return stored;
    MLC_ASSIGN_OR_RETURN(Tensor wide, WidenOnHost(record, stored.data));
    auto kept = std::make_shared<Tensor>(wide);
    return Bytes{static_cast<const uint8_t*>(wide.data()), wide.bytes(), kept};
  }

  // The bytes of a tensor in its shard; fewer if the shard was cut off.
  Result<Bytes> Stored(const WeightRecord& record) {
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

  Result<Tensor> WidenOnHost(const WeightRecord& record, const uint8_t* data) {
    MLC_ASSIGN_OR_RETURN(Tensor wide, Tensor::Empty(record.shape, record.dtype, Device{}));
    uint32_t* out = static_cast<uint32_t*>(wide.data());
    for (int64_t i = 0; i < record.bytes / 2; ++i) {
      out[i] = static_cast<uint32_t>(data[2 * i]) << 16 | static_cast<uint32_t>(data[2 * i + 1])
                                                              << 24;
    }
    return wide;
  }

  Result<Tensor> Widen(const WeightRecord& record, const uint8_t* data) {
    MLC_ASSIGN_OR_RETURN(Tensor wide, WidenOnHost(record, data));
    if (device_.type == Device{}.type) return wide;
    MLC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Empty(record.shape, record.dtype, device_));
    MLC_RETURN_IF_ERROR(tensor.Write(0, wide.data(), wide.bytes()));
    return tensor;
  }

  const ByteSource& source_;
  Device device_;
  bool copies_small_;
  std::unordered_map<std::string, Bytes> shards_;
  std::set<std::string> used_;  // the shards that tensors refer to
};

// If MLC-LLM's converter divided that tensor among shards: among how many it did.
Status Divided(const WeightRecords& records, const std::string& name) {
  int count = 0;
  while (records.count(NameOfPart(name, count)) > 0) ++count;
  if (count == 0) return Status();
  return InvalidArgument("MLC-LLM's converter divided '" + name + "' among " +
                         std::to_string(count) + " shards; use --tensor-parallel-shards " +
                         std::to_string(count) +
                         ", or convert the model again (mlc_llm "
                         "convert_weight), which makes one folder for every number")
      .WithParam("tensor_parallel_shards");
}

// The record of a stored tensor, if it has that shape and type.
Result<WeightRecord> Find(const WeightRecords& records, const std::string& name, const Shape& whole,
                          DType dtype) {
  auto found = records.find(name);
  if (found == records.end()) {
    MLC_RETURN_IF_ERROR(Divided(records, name));
    return InvalidArgument("the weights have no tensor '" + name +
                           "', which the model library needs: they belong to another model or "
                           "quantization; compile a library for this one (mlc_llm compile)")
        .WithParam("model_lib");
  }
  const WeightRecord& record = found->second;
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

Result<Tensor> Zeros(const ParamSpec& spec, Device device) {
  MLC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Empty(spec.shape, spec.dtype, device));
  std::vector<char> zeros(static_cast<size_t>(tensor.bytes()));
  MLC_RETURN_IF_ERROR(tensor.Write(0, zeros.data(), tensor.bytes()));
  return tensor;
}

// The parameter of a shard, where the folder has it as a tensor of its own.
ParamSpec OwnTensor(ParamSpec spec) {
  spec.name = std::exchange(spec.own_name, "");
  spec.first = spec.extent = spec.axis = 0;
  spec.parts.reset();
  return spec;
}

Result<Tensor> LoadParam(const WeightRecords& records, const ParamSpec& spec, Device device,
                         Loader* loader) {
  if (spec.is_zero) return Zeros(spec, device);
  if (!spec.own_name.empty() && records.count(spec.own_name) > 0) {
    bool is_last = records.count(NameOfPart(spec.name, spec.num_shards)) == 0;
    if (!is_last || records.count(NameOfPart(spec.name, spec.num_shards - 1)) == 0) {
      return Divided(records, spec.name);
    }
    return LoadParam(records, OwnTensor(spec), device, loader);
  }
  if (!spec.parts) {
    DType dtype = StoredDType(spec);
    MLC_ASSIGN_OR_RETURN(WeightRecord record, Find(records, spec.name, StoredShape(spec), dtype));
    return loader->Load(record, spec);
  }
  std::vector<WeightRecord> found;
  for (const StoredPart& part : spec.parts->parts) {
    MLC_ASSIGN_OR_RETURN(found.emplace_back(), Find(records, part.name, part.shape, part.dtype));
    if (part.scales.empty()) continue;
    MLC_ASSIGN_OR_RETURN(found.emplace_back(),
                         Find(records, part.scales, ScalesShape(part.shape), DType::kFloat32));
  }
  return loader->Join(found, spec);
}

void DropAll(const std::vector<std::shared_ptr<MappedFile>>& files) {
  for (const std::shared_ptr<MappedFile>& file : files) file->Drop();
}

}  // namespace

Result<Weights> Weights::Load(const ByteSource& source, const std::vector<ParamSpec>& wanted,
                              Device device, const LoadProgress& progress,
                              const std::string& strips_prefix) {
  MLC_ASSIGN_OR_RETURN(WeightIndex index, ReadWeightIndex(source));
  KeptStrips kept(strips_prefix, index.id, wanted);
  bool has_file = kept.Map();
  if (!has_file) MLC_RETURN_IF_ERROR(kept.Allocate().In("strips of the weights"));
  Loader loader(source, device, /*copies_small=*/has_file);
  Weights weights;
  weights.id_ = index.id;
  weights.by_rows_.resize(wanted.size());
  for (const ParamSpec& spec : wanted) {
    if (progress && !progress(static_cast<double>(weights.tensors_.size()) / wanted.size())) {
      return Cancelled("loading was cancelled");
    }
    if (spec.strips && has_file) {
      weights.tensors_.emplace_back();  // UseFile sets it
      continue;
    }
    Result<Tensor> tensor = LoadParam(index.records, BeforeStrips(spec), device, &loader);
    bool is_mapped = tensor.ok() && loader.IsMapped(*tensor);
    if (spec.strips && tensor.ok()) {
      Tensor stored = std::move(tensor).value();
      tensor = kept.LayOut(weights.tensors_.size(), stored);
      if (is_mapped && tensor.ok()) weights.laid_out_.push_back({stored, *spec.strips, *tensor});
      loader.DropFiles();  // what was laid out is in memory twice otherwise
    }
    if (!tensor.ok() && tensor.status().code() == StatusCode::kResourceExhausted) {
      return std::move(tensor).status().In("tensor '" + spec.name + "'");
    }
    MLC_RETURN_IF_ERROR(tensor.status());
    if (is_mapped) weights.droppable_bytes_ += tensor->bytes();
    weights.by_rows_[weights.tensors_.size()] = is_mapped && spec.by_rows;
    if (is_mapped && spec.by_rows) ReadScattered(tensor->data(), tensor->bytes());
    weights.tensors_.push_back(std::move(tensor).value());
  }
  weights.files_ = loader.TakeFiles();
  if (has_file || kept.Write()) weights.UseFile(kept);
  return weights;
}

void Weights::UseFile(const KeptStrips& kept) {
  int64_t laid_out = 0;
  for (const LaidOut& one : laid_out_) laid_out += one.tensor.bytes();
  droppable_bytes_ += kept.Use(&tensors_) - laid_out;
  laid_out_.clear();
  files_.push_back(kept.file());
}

int64_t Weights::Drop() {
  DropAll(files_);
  // Neighbours together: in between is a page of the system, which has parts of both.
  for (auto one = laid_out_.begin(); one != laid_out_.end();) {
    auto address = [](const LaidOut& of) { return static_cast<uint8_t*>(of.tensor.data()); };
    uint8_t *begin = address(*one), *end = begin;
    for (; one != laid_out_.end() && address(*one) - end < kWeightAlignment; ++one) {
      end = address(*one) + one->tensor.bytes();
    }
    DiscardMemory(begin, end - begin);
  }
  dropped_ = true;
  return droppable_bytes_;
}

void Weights::Restore() {
  if (!std::exchange(dropped_, false) || laid_out_.empty()) return;
  for (LaidOut& one : laid_out_) {
    LayInStrips(one.stored, one.strips, &one.tensor);
    DropAll(files_);
  }
}

int64_t Weights::Touch() {
  Restore();
  int64_t bytes = 0;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    if (tensor.on_host() && !by_rows_[i]) bytes += TouchMemory(tensor.data(), tensor.bytes());
  }
  return bytes;
}

}  // namespace mlc
