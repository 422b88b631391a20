// dlopen and its relatives: the page links a model library, a relocatable wasm module, into this
// one. TVM's loader of shared libraries and platform/shared_library.h call them.
#include <dlfcn.h>

#include <cstdint>

#include "platform/web/page.h"

namespace {

constexpr uint32_t kReasonBytes = 512;

void* HandleOf(int32_t library) { return reinterpret_cast<void*>(static_cast<intptr_t>(library)); }

}  // namespace

extern "C" {

void __dl_seterr(const char* format, ...);  // of the C library, whose dlerror reads it

// RTLD_NOLOAD: no library of the page is open under its path, since each load has its own copy.
void* dlopen(const char* path, int flags) {
  if (path == nullptr || (flags & RTLD_NOLOAD) != 0) return nullptr;
  if (mlc_page_file_size(path) < 0) {  // asked without waiting: devices are looked for so
    __dl_seterr("%s: no such file", path);
    return nullptr;
  }
  char reason[kReasonBytes] = "";
  int32_t library = mlc_page_library_open(path, reason, kReasonBytes);
  if (library == 0) __dl_seterr("%s", reason);
  return HandleOf(library);
}

void* dlsym(void* library, const char* name) {
  return mlc_page_library_symbol(static_cast<int32_t>(reinterpret_cast<intptr_t>(library)), name);
}

int dlclose(void* library) {
  mlc_page_library_close(static_cast<int32_t>(reinterpret_cast<intptr_t>(library)));
  return 0;
}

int dladdr(const void*, Dl_info*) { return 0; }

}  // extern "C"
