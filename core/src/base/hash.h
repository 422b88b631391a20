// Hashes that detect accidental changes. They are not safe against forgery.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mlc {

// 64-bit FNV-1a, for formats that require it.
uint64_t Fnv1a(std::string_view bytes);

// Similar, but reads eight bytes at a time: for gigabytes. Every change within eight bytes changes
// it.
uint64_t HashWords(std::string_view bytes);

// Another hash with the same promise, at the speed of the memory.
uint64_t HashLanes(std::string_view bytes);

// 16 hexadecimal digits.
std::string HexText(uint64_t hash);

}  // namespace mlc
