// TVM's runtime chooses a loader by the end of a file's name. A `.wasm` library is opened as a shared
// one: platform/web has dlopen.
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

namespace mlc {
namespace {

tvm::ffi::Module OpenWasm(const tvm::ffi::String& path, const tvm::ffi::String& format) {
  tvm::ffi::Function open = tvm::ffi::Function::GetGlobalRequired("ffi.Module.load_from_file.so");
  return open(path, format).cast<tvm::ffi::Module>();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("ffi.Module.load_from_file.wasm", OpenWasm);
}

}  // namespace
}  // namespace mlc
