#include "model/adapter_spec.h"

#include <algorithm>

#include "model/model_config.h"

namespace mlc {
namespace {

constexpr int64_t kMaxAdapterWidth = 1 << 20, kMaxAdapterGroup = 1 << 10;
constexpr size_t kMaxAdapterParts = 64, kMaxAdapterLayers = 1 << 16;

bool IsWidth(const Json& json) {
  return json.is_int() && json.as_int() > 0 && json.as_int() <= kMaxAdapterWidth &&
         json.as_int() % AdapterSpec::kLanes == 0;
}

// {"name": "model.layers.0.self_attn.qkv_proj", "inputs": 576, "outputs": [576, 192, 192]}, and
// "group" and "step" where adapters are integers.
Result<AdapterLayer> ReadAdapterLayer(const Json& json) {
  AdapterLayer layer;
  MLC_ASSIGN_OR_RETURN(layer.name, GetString(json, "name"));
  const Json *inputs = json.Find("inputs"), *outputs = json.Find("outputs");
  bool is_list = outputs != nullptr && outputs->is_array() && !outputs->as_array().empty() &&
                 outputs->as_array().size() <= kMaxAdapterParts &&
                 std::all_of(outputs->as_array().begin(), outputs->as_array().end(), IsWidth);
  if (inputs == nullptr || !IsWidth(*inputs) || !is_list) {
    return InvalidArgument("field 'adapters' has a layer of a bad size").WithParam("adapters");
  }
  layer.inputs = inputs->as_int();
  for (const Json& part : outputs->as_array()) layer.outputs.push_back(part.as_int());
  if (json.Find("group") == nullptr) return layer;
  MLC_ASSIGN_OR_RETURN(layer.group, GetInt(json, "group"));
  MLC_ASSIGN_OR_RETURN(layer.step, GetInt(json, "step"));
  bool is_known = layer.group > 0 && layer.group <= kMaxAdapterGroup && layer.step > 0 &&
                  layer.step <= 2 && layer.group % (4 * layer.step) == 0;
  if (!is_known) {
    return InvalidArgument("field 'adapters' has a layer with unknown groups")
        .WithParam("adapters");
  }
  return layer;
}

}  // namespace

// "adapters": {"ranks": 8, "dtype": "float16", "layers": [...]}, if rows may have adapters.
Result<std::shared_ptr<const AdapterSpec>> ReadAdapterSpec(const Json& metadata) {
  const Json* adapters = metadata.Find("adapters");
  if (adapters == nullptr) return std::shared_ptr<const AdapterSpec>();
  auto spec = std::make_shared<AdapterSpec>();
  MLC_ASSIGN_OR_RETURN(int64_t ranks, GetInt(*adapters, "ranks"));
  MLC_ASSIGN_OR_RETURN(std::string dtype, GetString(*adapters, "dtype"));
  std::optional<DType> known = ParseDType(dtype);
  bool is_float = known == DType::kFloat16 || known == DType::kFloat32;
  const Json* layers = adapters->Find("layers");
  if (ranks != AdapterSpec::kRanks || !is_float || layers == nullptr || !layers->is_array() ||
      layers->as_array().size() > kMaxAdapterLayers) {
    return Unsupported(
               "keeps adapters in a form that this engine does not know; compile the model again")
        .WithParam("model_lib");
  }
  spec->dtype = *known;
  for (const Json& layer : layers->as_array()) {
    MLC_ASSIGN_OR_RETURN(AdapterLayer read, ReadAdapterLayer(layer));
    spec->layers.push_back(std::move(read));
  }
  return std::shared_ptr<const AdapterSpec>(std::move(spec));
}

std::vector<AdapterTensor> LibraryMetadata::adapter_tensors() const {
  return info.adapters == nullptr ? std::vector<AdapterTensor>() : info.adapters->tensors();
}

}  // namespace mlc
