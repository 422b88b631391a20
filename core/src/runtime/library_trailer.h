// The trailer that `mlc_llm compile` appends to a model library: "MLCLIB01", the length of the
// bytes before it and their FNV-1a hash, both 64-bit little-endian. The system's loader trusts a
// shared object, so we check this first.
#ifndef MLC_RUNTIME_LIBRARY_TRAILER_H_
#define MLC_RUNTIME_LIBRARY_TRAILER_H_

#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc {

// `path` is for messages. Errors: kUnsupported if there is no trailer, kCorrupt if the bytes do not
// match it.
Status CheckLibraryTrailer(std::string_view file, const std::string& path);

// The id of a library whose trailer was checked: its hash as text.
std::string LibraryId(std::string_view file);

}  // namespace mlc

#endif  // MLC_RUNTIME_LIBRARY_TRAILER_H_
