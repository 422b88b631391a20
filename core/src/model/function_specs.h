// The functions of a model library, as its metadata describes them (docs/model-library.md).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "runtime/input_spec.h"

namespace mlc {

struct FunctionSpec {
  std::string name;
  std::vector<InputSpec> inputs;     // in the order of the function's arguments
  std::vector<std::string> results;  // in the order of the tuple that it returns

  bool Takes(std::string_view input) const;
  bool Gives(std::string_view result) const;
};

using FunctionSpecs = std::map<std::string, FunctionSpec>;

// "functions": {"embed": {"inputs": [{"name": "tokens", "shape": ["n"], "dtype": "int32"}, {"name":
// "params"}], "results": ["embeddings"]}, ...}. `prefix`: what their names in the library begin
// with besides. Errors: kInvalidArgument.
Result<FunctionSpecs> ReadFunctionSpecs(const Json& metadata, const std::string& prefix = "");

}  // namespace mlc
