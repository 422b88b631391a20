#include "runtime/kept_strips.h"

#include <string_view>

#include "base/hash.h"
#include "platform/file.h"

namespace mlc {
namespace {

constexpr int64_t kPlaceAlignment = 64;  // of tensors that refer to the file
constexpr std::string_view kStripsMagic = "MLCSTRIP";

// Everything that the strips of a parameter depend on, besides the weights.
std::string TextOf(const ParamSpec& spec) {
  std::string text = spec.name + DTypeName(spec.dtype) + ShapeText(spec.shape);
  auto add = [&](int64_t number) { text += ',' + std::to_string(number); };
  for (int64_t number : {spec.strips->outputs, int64_t{spec.strips->axis}, spec.first, spec.extent,
                         int64_t{spec.axis}}) {
    add(number);
  }
  if (spec.strips->threes) text += " threes";
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
    end_ += (bytes + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
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

bool KeptStrips::Write(const std::vector<Tensor>& tensors) {
  if (path_.empty()) return false;
  static constexpr char kPadding[kPlaceAlignment] = {};
  std::vector<std::string_view> parts;
  for (size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    int64_t next = i + 1 < places_.size() ? places_[i + 1].offset : end_;
    parts.emplace_back(static_cast<const char*>(tensors[place.param].data()),
                       static_cast<size_t>(place.bytes));
    parts.emplace_back(kPadding, static_cast<size_t>(next - place.offset - place.bytes));
  }
  parts.emplace_back(trailer_);
  return ReplaceFile(path_, parts).ok() && Map();
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
