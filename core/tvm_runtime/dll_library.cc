// Opens model libraries on Windows, in place of TVM's own file, which makes one character of each
// byte of a path and gives no reason if a library cannot be opened.
#include <tvm/ffi/reflection/registry.h>

#include "module_internal.h"
#include "platform/windows/shared_library.h"

namespace {

namespace ffi = tvm::ffi;

class Dll final : public ffi::Library {
 public:
  explicit Dll(const ffi::String& path)
      : library_(mlc::OpenLibrary(path.c_str(), mlc::LibraryScope::kLocal)) {
    if (library_ == nullptr) TVM_FFI_THROW(RuntimeError) << mlc::LibraryError();
  }
  ~Dll() override { mlc::CloseLibrary(library_); }

  void* GetSymbol(const ffi::String& name) override {
    return mlc::FindSymbol(library_, name.c_str());
  }

 private:
  void* library_;
};

ffi::Module Open(const ffi::String& path, const ffi::String& /*format*/) {
  return ffi::CreateLibraryModule(ffi::make_object<Dll>(path));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("ffi.Module.load_from_file.so", Open);
}

}  // namespace
