// The metadata of a model library out of nowhere, byte 0, and the index of the weights: refused
// with a message, or the weights are loaded from a shard of numbers.
#include <cstring>

#include "fuzz.h"
#include "model/model_config.h"
#include "runtime/weights.h"

namespace mlc {
namespace {

constexpr int64_t kShardBytes = 1 << 16;
constexpr int64_t kMostBytes = 1 << 20;  // of the tensors; larger ones say nothing about the parser

// The index, and one shard under every other name.
class OneShard : public ByteSource {
 public:
  explicit OneShard(std::string_view index) : index_(Copied(index)), shard_(Copied(Numbers())) {}

  Result<Bytes> Open(std::string_view name) const override {
    const std::shared_ptr<std::string>& text = name == "tensor-cache.json" ? index_ : shard_;
    return Bytes{reinterpret_cast<const uint8_t*>(text->data()), static_cast<int64_t>(text->size()),
                 text};
  }
  bool Has(std::string_view) const override { return true; }
  std::string Describe(std::string_view name) const override { return std::string(name); }

 private:
  static std::shared_ptr<std::string> Copied(std::string_view text) {
    return std::make_shared<std::string>(text);
  }
  static std::string Numbers() {
    std::string bytes(kShardBytes, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 37);
    return bytes;
  }

  std::shared_ptr<std::string> index_, shard_;
};

bool IsSmall(const ParamSpec& spec) {
  std::optional<int64_t> bytes = TensorBytes(StoredShape(spec), DType::kFloat32);
  return bytes && *bytes <= kMostBytes;
}

void CheckLoad(const std::vector<ParamSpec>& specs, std::string_view index) {
  for (const ParamSpec& spec : specs) {
    MLC_FUZZ_CHECK(TensorBytes(spec.shape, spec.dtype).has_value());
    if (!IsSmall(spec)) return;
  }
  Result<Weights> weights = Weights::Load(OneShard(index), specs, Device{}, nullptr);
  if (!weights.ok()) {
    MLC_FUZZ_CHECK(!weights.status().message().empty());
    MLC_FUZZ_CHECK(weights.status().code() != StatusCode::kInternal);
    return;
  }
  const std::vector<Tensor>& loaded = weights->tensors();
  MLC_FUZZ_CHECK(loaded.size() == specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    MLC_FUZZ_CHECK(loaded[i].shape() == specs[i].shape);
    std::string bytes(static_cast<size_t>(loaded[i].bytes()), '\0');
    std::memcpy(bytes.data(), loaded[i].data(), bytes.size());  // all of it can be read
  }
}

MLC_FUZZ_TARGET(model_library) {
  fuzz::Halves input = fuzz::SplitAtZero(data);
  Result<LibraryMetadata> metadata = ParseLibraryMetadata(std::string(input.first), "library");
  if (!metadata.ok()) {
    StatusCode code = metadata.status().code();
    MLC_FUZZ_CHECK(code == StatusCode::kCorrupt || code == StatusCode::kUnsupported);
    MLC_FUZZ_CHECK(!metadata.status().message().empty());
    return;
  }
  CheckLoad(metadata->params, input.second);
}

}  // namespace
}  // namespace mlc
