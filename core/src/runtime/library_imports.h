// Gives a library the functions that it calls by name and the system's loader cannot find.
//
//   void* library = OpenLibrary("libmodel.so", LibraryScope::kLazy);
//   BindImports(library, TvmImports());
//
// A model library calls a few functions of TVM's interface. The loader finds them in a shared
// libmlc_llm or libtvm_ffi that the whole process sees. It does not find them in a program into
// which the engine is linked, because a program shows its functions only when it is linked with
// -rdynamic, and a Swift package cannot ask for that.
#pragma once

#include <string>
#include <vector>

namespace mlc {

struct Import {
  const char* name;
  void* address;
};

// The functions of TVM's interface that the host code of a model library can call by name. (It
// calls the others through pointers that TVM sets.)
const std::vector<Import>& TvmImports();

// Sets the library's calls of these functions that the loader has not found, and returns their
// number. The library must be open, by LibraryScope::kLazy. On other systems than Linux it does
// nothing: programs show their functions there.
int BindImports(void* library, const std::vector<Import>& imports);

// Opens a library that may register its kernels, which calls TVM, while it opens: by a path, or by
// a name that the loader searches. If the loader finds TVM's functions for the engine alone (as in
// a JVM, which opens the engine locally), the whole process sees them from then on. Null on
// failure, with the loader's reason in `error`.
void* OpenWithTvm(const std::string& file, std::string* error);

// BindImports for the file of a model library. It stays bound while the file stays open.
class BoundLibrary {
 public:
  explicit BoundLibrary(const std::string& path);
  ~BoundLibrary();
  BoundLibrary(const BoundLibrary&) = delete;
  BoundLibrary& operator=(const BoundLibrary&) = delete;

 private:
  void* library_ = nullptr;
};

}  // namespace mlc
