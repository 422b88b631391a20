// Calls a function of a model library with arguments by name.
//
//   LibraryCall embed(library, metadata.functions.at(kEmbed));
//   MLC_ASSIGN_OR_RETURN(auto made, embed({{kTokens, tokens}, {kParams, params}}));
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/function_specs.h"
#include "runtime/model_library.h"

namespace mlc {

using NamedArgument = std::pair<std::string_view, Argument>;

class LibraryCall {
 public:
  LibraryCall(ModelLibrary* library, FunctionSpec spec)
      : library_(library), spec_(std::move(spec)) {}

  const FunctionSpec& spec() const { return spec_; }
  // The results in the order of `spec().results`. kCorrupt when the function takes a name that is
  // not there.
  Result<std::vector<Tensor>> operator()(const std::vector<NamedArgument>& arguments) const;

 private:
  ModelLibrary* library_;
  FunctionSpec spec_;
};

// Copies host data [count, ...row] to a device.
Result<Tensor> OnDevice(const void* data, int64_t count, const Shape& row, DType dtype,
                        Device device);

}  // namespace mlc
