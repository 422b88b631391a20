// A model library for several processors: one file with a shared object for each, the fastest
// first.
//
//   "MLCFAT01", the length of the index (64-bit little-endian), the index, the shared objects
//   index: {"variants": [{"device": "x86-64-v4", "cpu_features": ["avx512f", ...],
//                         "offset": 4096, "size": 1048576}, ...]}
//
// Offsets count from the file's first byte. The trailer of every library (library_trailer.h) ends
// the file.
#ifndef MLC_RUNTIME_LIBRARY_VARIANTS_H_
#define MLC_RUNTIME_LIBRARY_VARIANTS_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace mlc {

bool HasVariants(std::string_view file);

// The bytes of the first one that this processor can run. `path` is for the messages. Errors:
// kCorrupt for a bad index, kUnsupported when no variant fits, with what the last one lacks.
Result<std::string_view> VariantForThisProcessor(std::string_view file, const std::string& path);

// A file for the loader of shared objects, which takes nothing else; removed when this is gone.
class TemporaryLibrary {
 public:
  // Errors: kResourceExhausted when it cannot be written.
  static Result<std::unique_ptr<TemporaryLibrary>> Write(std::string_view bytes);
  ~TemporaryLibrary();
  TemporaryLibrary(const TemporaryLibrary&) = delete;
  TemporaryLibrary& operator=(const TemporaryLibrary&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryLibrary(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace mlc

#endif  // MLC_RUNTIME_LIBRARY_VARIANTS_H_
