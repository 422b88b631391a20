// The trailer that `mlc_llm compile` appends to a model library: "MLCLIB01", the length of what
// precedes it and that part's FNV-1a hash, both 64-bit little-endian. The loader of shared objects
// trusts its input; this is checked first.
#ifndef MLC_RUNTIME_LIBRARY_TRAILER_H_
#define MLC_RUNTIME_LIBRARY_TRAILER_H_

#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc {

// `path` is for the messages. Errors: kUnsupported without a trailer, kCorrupt when the bytes do
// not match it.
Status CheckLibraryTrailer(std::string_view file, const std::string& path);

// What tells a library whose trailer was checked from others: its hash as text.
std::string LibraryId(std::string_view file);

}  // namespace mlc

#endif  // MLC_RUNTIME_LIBRARY_TRAILER_H_
