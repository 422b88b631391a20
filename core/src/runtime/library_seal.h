// The seal of a model library: a checksum inside the shared object, which survives `strip`
// (Android's build tools strip every library, and the trailer after the last section is lost).
//
// A shared object for ELF has a section `.mlc_seal` of 24 bytes: "MLCSEAL1", the number of bytes
// that it covers, and their hash (HashWords), both 64-bit little-endian. It covers the contents of
// all sections that are loaded, in the order of the section table, without the seal itself.
// Stripping removes only sections that are not loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mlc {

struct LibrarySeal {
  uint64_t hash = 0;  // as the library says
  bool fits = false;  // whether the loaded sections have this hash
};

// Nothing if the file is no 64-bit little-endian ELF file with a seal.
std::optional<LibrarySeal> ReadLibrarySeal(std::string_view file);

}  // namespace mlc
