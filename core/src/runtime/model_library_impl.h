// The TVM side of libraries and tensor lists. Included inside runtime/ only.
#pragma once

#include <tvm/ffi/extra/module.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/model_library.h"
#include "runtime/tvm_convert.h"

namespace mlc {

struct TensorList::Impl {
  tvm::ffi::Array<tvm::ffi::Tensor> tensors;
};

struct ModelLibrary::Impl {
  std::string path;
  tvm::ffi::Optional<tvm::ffi::Module> executable, vm;
  std::unordered_map<std::string, tvm::ffi::Function> functions;

  // Starts the virtual machine of the module that `open` returns.
  Status Start(Device device, const std::function<tvm::ffi::Module()>& open);
  // A function of the virtual machine, which is looked up once. Null if there is none.
  tvm::ffi::Function* Find(const std::string& name);
  Status Call(const std::string& name, const std::vector<Argument>& arguments, tvm::ffi::Any* out);
  // Calls a function that returns text.
  Result<std::string> Text(const std::string& name);
};

}  // namespace mlc
