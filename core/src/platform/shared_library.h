// Opens shared libraries while the program runs.
//
//   void* library = OpenLibrary("libOpenCL.so.1", LibraryScope::kLocal);
//   auto* get = reinterpret_cast<GetPlatforms*>(FindSymbol(library, "clGetPlatformIDs"));
//
// These functions are compiled into each library that includes them, not into libmlc_llm. The
// loader searches the run path of the library that calls it, and a device plugin has its own run
// path.
#pragma once

#if defined(_WIN32)
#include "platform/windows/shared_library.h"
#else

#include <dlfcn.h>

#include <string>

namespace mlc {

enum class LibraryScope {
  kLocal,
  kGlobal,  // libraries that are opened later see its symbols
  kLazy,    // local, and a function that it calls may be missing until the call
};

// Opens a path, or a name that the loader searches. Null on failure; LibraryError gives the reason.
[[maybe_unused]] static void* OpenLibrary(const char* path, LibraryScope scope) {
  int when = scope == LibraryScope::kLazy ? RTLD_LAZY : RTLD_NOW;
  return dlopen(path, when | (scope == LibraryScope::kGlobal ? RTLD_GLOBAL : RTLD_LOCAL));
}

// Adds a reference to a library that is already open. Null when it is not.
[[maybe_unused]] static void* OpenIfLoaded(const char* path) {
  return dlopen(path, RTLD_NOW | RTLD_NOLOAD);
}

[[maybe_unused]] static void CloseLibrary(void* library) { dlclose(library); }

// The reason why the last call failed.
[[maybe_unused]] static std::string LibraryError() {
  const char* error = dlerror();
  return error == nullptr ? "the library cannot be opened" : error;
}

// Null when there is no such symbol.
[[maybe_unused]] static void* FindSymbol(void* library, const char* name) {
  return dlsym(library, name);
}

// The file that contains the code or data at `address`; "" when there is none.
[[maybe_unused]] static std::string LibraryOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) == 0 ? "" : info.dli_fname;
}

}  // namespace mlc

#endif  // _WIN32
