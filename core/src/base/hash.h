// Hashes that find accidents; none of them withstands a forger.
#ifndef MLC_BASE_HASH_H_
#define MLC_BASE_HASH_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace mlc {

// 64-bit FNV-1a: a format's, where a format says so.
uint64_t Fnv1a(std::string_view bytes);

// Like it, of eight bytes at a time: for gigabytes. A change within any eight bytes changes it.
uint64_t HashWords(std::string_view bytes);

// 16 hexadecimal digits.
std::string HexText(uint64_t hash);

}  // namespace mlc

#endif  // MLC_BASE_HASH_H_
