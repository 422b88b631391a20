#include "model/function_specs.h"

#include <algorithm>

namespace mlc {
namespace {

constexpr size_t kMostFunctions = 64, kMostInputs = 64;

Status Bad(const std::string& what) {
  return InvalidArgument("field 'functions' " + what).WithParam("functions");
}

Result<const Json::Array*> ListIn(const Json& json, const char* key) {
  const Json* list = json.Find(key);
  if (list == nullptr || !list->is_array() || list->as_array().size() > kMostInputs) {
    return Bad(std::string("must have a list '") + key + "' for each function");
  }
  return &list->as_array();
}

Result<InputSpec> ReadInput(const Json& json) {
  InputSpec input;
  MLC_ASSIGN_OR_RETURN(input.name, GetString(json, "name"));
  if (json.Find("shape") == nullptr) return input;
  MLC_ASSIGN_OR_RETURN(const Json::Array* shape, ListIn(json, "shape"));
  MLC_ASSIGN_OR_RETURN(std::string dtype, GetString(json, "dtype"));
  std::optional<DType> parsed = ParseDType(dtype);
  if (!parsed || shape->empty() || !shape->front().is_string()) {
    return Bad("has a bad input '" + input.name + "'");
  }
  input.dtype = *parsed;
  input.size = shape->front().as_string();
  for (size_t i = 1; i < shape->size(); ++i) {
    if (!(*shape)[i].is_int()) return Bad("has a bad input '" + input.name + "'");
    input.row.push_back((*shape)[i].as_int());
  }
  return input;
}

}  // namespace

bool FunctionSpec::Takes(std::string_view input) const {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const InputSpec& spec) { return spec.name == input; });
}

bool FunctionSpec::Gives(std::string_view result) const {
  return std::find(results.begin(), results.end(), result) != results.end();
}

Result<FunctionSpecs> ReadFunctionSpecs(const Json& metadata, const std::string& prefix) {
  const Json* functions = metadata.Find("functions");
  if (functions == nullptr || !functions->is_object()) return Bad("is missing");
  if (functions->as_object().size() > kMostFunctions) return Bad("has too many functions");
  FunctionSpecs found;
  for (const auto& [name, json] : functions->as_object()) {
    FunctionSpec spec{prefix + name, {}, {}};
    MLC_ASSIGN_OR_RETURN(const Json::Array* inputs, ListIn(json, "inputs"));
    for (const Json& input : *inputs) {
      MLC_ASSIGN_OR_RETURN(InputSpec read, ReadInput(input));
      spec.inputs.push_back(std::move(read));
    }
    MLC_ASSIGN_OR_RETURN(const Json::Array* results, ListIn(json, "results"));
    for (const Json& result : *results) {
      if (!result.is_string()) return Bad("names a result by something else than text");
      spec.results.push_back(result.as_string());
    }
    found.emplace(name, std::move(spec));
  }
  return found;
}

}  // namespace mlc
