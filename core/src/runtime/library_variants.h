// A model library for several CPUs: one file with a shared object for each, the fastest one first.
//
//   "MLCFAT01", the length of the index (64-bit little-endian), the index, the shared objects
//   index: {"variants": [{"device": "x86-64-v4", "cpu_features": ["avx512f", ...],
//                         "offset": 4096, "size": 1048576}, ...]}
//
// Offsets count from the first byte of the file. The file ends with the trailer that every library
// has (library_trailer.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace mlc {

bool HasVariants(std::string_view file);

// The bytes of the first variant that this CPU can run. `path` is for messages. Errors: kCorrupt
// for a bad index; kUnsupported when no variant fits, with the features that the CPU lacks for the
// last one.
Result<std::string_view> VariantForThisCpu(std::string_view file, const std::string& path);

// A file for the loader of shared objects, which accepts only files. The destructor removes it.
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
