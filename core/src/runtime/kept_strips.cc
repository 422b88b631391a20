#include "runtime/kept_strips.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "platform/file.h"
#include "platform/memory.h"

namespace mlc {
namespace {

constexpr int64_t kPlaceAlignment = 64;  // of tensors in the file
constexpr std::string_view kStripsMagic = "MLCSTRIP";

int64_t PaddingBehind(int64_t bytes) { return -bytes & (kPlaceAlignment - 1); }

// Everything that the strips of a parameter depend on, besides the weights.
std::string TextOf(const ParamSpec& spec) {
  std::string text = spec.name + DTypeName(spec.dtype) + ShapeText(spec.shape);
  auto add = [&](int64_t number) { text += ',' + std::to_string(number); };
  for (int64_t number : {spec.strips->outputs, int64_t{spec.strips->axis}, spec.first, spec.extent,
                         int64_t{spec.axis}}) {
    add(number);
  }
  if (spec.strips->change != Strips::Change::kNone) add(static_cast<int64_t>(spec.strips->change));
  if (!spec.parts) return text;
  add(spec.parts->axis);
  add(static_cast<int64_t>(spec.parts->change));
  for (const StoredPart& part : spec.parts->parts) {
    text += part.name + part.scales + DTypeName(part.dtype) + ShapeText(part.shape);
    for (const RowRun& run : part.rows) {
      add(run.first);
      for (const RowRun::Level& level : run.levels) add(level.count), add(level.step);
    }
  }
  return text;
}

}  // namespace

KeptStrips::KeptStrips(const std::string& prefix, const std::string& weights_id,
                       const std::vector<ParamSpec>& wanted)
    : wanted_(wanted) {
  std::string key = weights_id;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].strips) continue;
    key += TextOf(wanted[i]);
    int64_t bytes = *TensorBytes(wanted[i].shape, wanted[i].dtype);
    places_.push_back({i, end_, bytes});
    end_ += bytes + PaddingBehind(bytes);
  }
  if (!kMapsFiles || prefix.empty() || places_.empty()) return;
  std::string name = HexText(Fnv1a(key));
  path_ = prefix + "-" + name + ".strips";
  trailer_ = std::string(kStripsMagic) + name;
}

bool KeptStrips::Map() {
  if (path_.empty() || !FileExists(path_)) return false;
  Result<std::shared_ptr<MappedFile>> file = MappedFile::Open(path_);
  if (!file.ok() || (*file)->size() != end_ + static_cast<int64_t>(trailer_.size())) return false;
  std::string_view last(reinterpret_cast<const char*>((*file)->data() + end_), trailer_.size());
  if (last != trailer_) return false;
  file_ = *file;
  return true;
}

Status KeptStrips::Allocate() {
  if (places_.empty()) return Status();
  MLC_ASSIGN_OR_RETURN(Tensor memory, Tensor::Empty({end_}, DType::kUInt8, Device{}));
  memory_ = std::make_shared<Tensor>(std::move(memory));
  // One step reads all of it. One block lets matrices below 2 MB share large pages.
  UseLargePages(memory_->data(), end_);
  for (const Place& place : places_) {
    uint8_t* end = static_cast<uint8_t*>(memory_->data()) + place.offset + place.bytes;
    std::fill(end, end + PaddingBehind(place.bytes), uint8_t{0});
  }
  return Status();
}

Result<Tensor> KeptStrips::LayOut(size_t param, const Tensor& stored) {
  const ParamSpec& spec = wanted_[param];
  if (!stored.on_host()) {
    return InvalidArgument("parameter '" + spec.name + "' is in strips, which are for CPUs alone")
        .WithParam("model_lib");
  }
  auto place = std::find_if(places_.begin(), places_.end(),
                            [param](const Place& one) { return one.param == param; });
  auto* data = static_cast<uint8_t*>(memory_->data()) + place->offset;
  Tensor tensor = Tensor::View(data, spec.shape, spec.dtype, memory_);
  if (LayInStrips(stored, *spec.strips, &tensor)) return tensor;
  return InvalidArgument("parameter '" + spec.name +
                         "' has a number that is not finite or beyond float16 (65,504). If the "
                         "weights are right, set \"activation_bits\": 16 in mlc-chat-config.json")
      .WithParam("model_lib");
}

// Linux keeps blocks of 2 MB that come in one large write in pages of that size (on ext4 and XFS).
bool KeptStrips::Write() {
  if (path_.empty()) return false;
  std::string_view strips(static_cast<const char*>(memory_->data()), static_cast<size_t>(end_));
  return ReplaceFile(path_, {strips, trailer_}).ok() && Map();
}

int64_t KeptStrips::Use(std::vector<Tensor>* tensors) const {
  int64_t bytes = 0;
  for (const Place& place : places_) {
    const ParamSpec& spec = wanted_[place.param];
    auto* data = const_cast<uint8_t*>(file_->data() + place.offset);
    (*tensors)[place.param] = Tensor::View(data, spec.shape, spec.dtype, file_);
    bytes += place.bytes;
  }
  return bytes;
}

}  // namespace mlc
