// How damage of a model library is detected. `mlc_llm compile` appends a trailer: "MLCLIB01", the
// length of the bytes before it and their FNV-1a hash, both 64-bit little-endian. A shared object
// for ELF also has a seal (library_seal.h), which is there when a build tool has stripped the
// trailer. The system's loader trusts a shared object, so we check this first.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc {

// `path` is for messages. Errors: kUnsupported if there is neither trailer nor seal, kCorrupt if
// the bytes do not match it.
Status CheckLibraryTrailer(std::string_view file, const std::string& path);

// The id of a library that was checked: the hash of its seal, else of its trailer, as text. It
// stays the same when the library is stripped.
std::string LibraryId(std::string_view file);

}  // namespace mlc
