#include "model/adapter_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string_view>

#include "base/half.h"
#include "base/hash.h"
#include "base/json.h"
#include "model/adapter_codes.h"
#include "platform/file.h"

namespace mlc {
namespace {

constexpr char kFormat[] = "mlc-adapter";
constexpr char kVersion[] = "1";
constexpr int64_t kMaxHeadBytes = 1 << 26;
constexpr int kMaxRank = 4096;

Status BadFile(const char* what) {
  return Corrupt(std::string("is no whole adapter: ") + what + "; make it again");
}

Status OfAnotherModel(const std::string& what) {
  return InvalidArgument(what + "; the adapter was made for another model");
}

// "__metadata__": {"format": "mlc-adapter", "version": "1", "rank": "16"}.
Result<int> ReadRank(const Json& head) {
  const Json none, *found = head.Find("__metadata__"), *about = found == nullptr ? &none : found;
  Result<std::string> format = GetString(*about, "format");
  if (!format.ok() || *format != kFormat) {
    return InvalidArgument(
        "is no adapter in mlc_llm's form; make one of it (mlc_llm convert_adapter)");
  }
  Result<std::string> version = GetString(*about, "version"), rank = GetString(*about, "rank");
  if (!version.ok() || *version != kVersion) {
    return Unsupported("has a version that this engine does not read; make it again");
  }
  bool is_number = rank.ok() && !rank->empty() && rank->size() < 6 &&
                   rank->find_first_not_of("0123456789") == std::string::npos;
  int value = is_number ? std::stoi(*rank) : 0;
  if (value < 1 || value > kMaxRank) return BadFile("it has no rank");
  return value;
}

// The bytes of a tensor that has this shape. The type must be float32.
Result<std::string_view> BytesOf(const Json& tensor, const Shape& shape, std::string_view body) {
  Result<std::string> dtype = GetString(tensor, "dtype");
  const Json *extents = tensor.Find("shape"), *offsets = tensor.Find("data_offsets");
  auto is_list = [](const Json* json) {
    return json != nullptr && json->is_array() &&
           std::all_of(json->as_array().begin(), json->as_array().end(),
                       [](const Json& item) { return item.is_int(); });
  };
  if (!dtype.ok() || *dtype != "F32" || !is_list(extents) || !is_list(offsets) ||
      offsets->as_array().size() != 2) {
    return BadFile("a tensor is not described as float32");
  }
  Shape found;
  for (const Json& extent : extents->as_array()) found.push_back(extent.as_int());
  if (found != shape) {
    return OfAnotherModel("has a tensor of shape " + ShapeText(found) + " where the model takes " +
                          ShapeText(shape));
  }
  int64_t begin = offsets->as_array()[0].as_int(), end = offsets->as_array()[1].as_int();
  int64_t bytes = *TensorBytes(shape, DType::kFloat32);
  auto size = static_cast<int64_t>(body.size());
  if (begin < 0 || begin > size || end - begin != bytes || bytes > size - begin) {
    return BadFile("a tensor lies outside of it");
  }
  return body.substr(static_cast<size_t>(begin), static_cast<size_t>(bytes));
}

// The largest size as the bits of a float: those of infinity and NaN are larger than all others.
uint32_t LargestOf(const uint32_t* bits, size_t count) {
  int32_t most = 0;  // signed: every instruction set compares these
  for (size_t i = 0; i < count; ++i) {
    most = std::max(most, static_cast<int32_t>(bits[i] & 0x7FFFFFFFu));
  }
  return static_cast<uint32_t>(most);
}

// The values, some at a time so that they stay in the cache: as float16, or as they are. They may
// begin at any address.
Result<std::vector<char>> InForm(std::string_view bytes, DType dtype) {
  constexpr size_t kSome = 1024;
  size_t count = bytes.size() / sizeof(float), size = static_cast<size_t>(DTypeBytes(dtype));
  std::vector<char> out(count * size);
  uint32_t most = 0, bits[kSome];
  uint16_t halves[kSome];
  for (size_t i = 0; i < count; i += kSome) {
    size_t some = std::min(kSome, count - i);
    std::memcpy(bits, bytes.data() + i * sizeof(float), some * sizeof(float));
    most = std::max(most, LargestOf(bits, some));
    bool is_half = dtype == DType::kFloat16;
    if (is_half) HalvesOfBits(bits, some, halves);
    std::memcpy(out.data() + i * size, is_half ? static_cast<const void*>(halves) : bits,
                some * size);
  }
  if (most >= BitsOfFloat(std::numeric_limits<float>::infinity())) {
    return BadFile("it holds NaN or infinite values");
  }
  if (dtype == DType::kFloat16 && most > BitsOfFloat(65504.0f)) {
    return Unsupported("holds numbers that are too large for float16");
  }
  return out;
}

// Adds A and B of a layer in the form of the pool.
Status AddLayer(const AdapterLayer& layer, const std::string_view (&given)[2], DType dtype,
                AdapterWeights* out) {
  std::vector<char> found[2];
  for (size_t i = 0; i < 2; ++i) {
    DType wanted = layer.group > 0 ? DType::kFloat32 : dtype;
    MLC_ASSIGN_OR_RETURN(found[i], InForm(given[i], wanted));
  }
  if (layer.group > 0) {
    const auto* a = reinterpret_cast<const float*>(found[0].data());
    const auto* b = reinterpret_cast<const float*>(found[1].data());
    MLC_ASSIGN_OR_RETURN(std::vector<char> codes, CodesOfA(layer, a, b, out->num_groups));
    out->tensors.push_back(std::move(codes));
    out->tensors.push_back(CodesOfB(layer, b, out->num_groups));
  } else {
    for (std::vector<char>& one : found) out->tensors.push_back(std::move(one));
  }
  return Status();
}

Status ReadTensors(const Json& head, std::string_view body, const AdapterSpec& spec,
                   AdapterWeights* out) {
  std::set<std::string> known = {"__metadata__"};
  for (const AdapterLayer& layer : spec.layers) {
    std::vector<Shape> shapes = layer.shapes();
    known.insert({layer.name + ".a", layer.name + ".b"});
    const Json* given[] = {head.Find(layer.name + ".a"), head.Find(layer.name + ".b")};
    if ((given[0] == nullptr) != (given[1] == nullptr)) {
      return BadFile("a layer has one factor without the other");
    }
    if (given[0] == nullptr) {
      out->tensors.resize(out->tensors.size() + 2);
      continue;
    }
    std::string_view bytes[2];
    for (size_t i = 0; i < 2; ++i) {
      shapes[i].insert(shapes[i].begin(), out->num_groups);
      MLC_ASSIGN_OR_RETURN(bytes[i], BytesOf(*given[i], shapes[i], body));
    }
    MLC_RETURN_IF_ERROR(AddLayer(layer, bytes, spec.dtype, out));
  }
  for (const auto& [name, unused] : head.as_object()) {
    if (known.count(name) != 0) continue;
    return OfAnotherModel("changes '" + name + "', which the model does not have, or whose layer " +
                          "takes no adapter");
  }
  return Status();
}

Result<AdapterWeights> Read(std::string_view bytes, const AdapterSpec& spec) {
  if (bytes.size() < 8) return BadFile("it is too short");
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<uint8_t>(bytes[i]);
  if (length > kMaxHeadBytes || length > bytes.size() - 8) return BadFile("its head is too long");
  Result<Json> head = Json::Parse(bytes.substr(8, length));
  if (!head.ok() || !head->is_object()) return BadFile("its head is no JSON object");
  AdapterWeights out;
  MLC_ASSIGN_OR_RETURN(out.rank, ReadRank(*head));
  out.num_groups = (out.rank + AdapterSpec::kRanks - 1) / AdapterSpec::kRanks;
  out.hash = HashWords(bytes);
  MLC_RETURN_IF_ERROR(ReadTensors(*head, bytes.substr(8 + length), spec, &out));
  return out;
}

}  // namespace

std::vector<Shape> AdapterLayer::shapes() const {
  auto parts = static_cast<int64_t>(outputs.size());
  int64_t all = 0;
  for (int64_t part : outputs) all += part;
  return {{parts * inputs / AdapterSpec::kLanes, AdapterSpec::kRanks, AdapterSpec::kLanes},
          {all / AdapterSpec::kLanes, AdapterSpec::kRanks, AdapterSpec::kLanes}};
}

std::vector<AdapterTensor> AdapterSpec::tensors() const {
  std::vector<AdapterTensor> found;
  for (const AdapterLayer& layer : layers) {
    if (layer.group > 0) {
      for (AdapterTensor& tensor : CodedAdapter(layer)) found.push_back(std::move(tensor));
    } else {
      for (Shape& shape : layer.shapes()) found.push_back({std::move(shape), dtype});
    }
  }
  return found;
}

int64_t AdapterSpec::group_bytes() const {
  int64_t bytes = 0;
  for (const AdapterTensor& tensor : tensors()) bytes += *TensorBytes(tensor.shape, tensor.dtype);
  return bytes;
}

Result<AdapterWeights> ReadAdapter(const std::string& path, const AdapterSpec& spec) {
  Result<std::shared_ptr<MappedFile>> file = MappedFile::Open(path);
  if (!file.ok()) return Status(file.status()).WithParam("path");
  std::string_view bytes(reinterpret_cast<const char*>((*file)->data()),
                         static_cast<size_t>((*file)->size()));
  Result<AdapterWeights> read = Read(bytes, spec);
  if (!read.ok()) return Status(read.status()).In(path).WithParam("path");
  return read;
}

}  // namespace mlc
