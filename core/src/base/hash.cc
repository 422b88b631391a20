#include "base/hash.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mlc {
namespace {

constexpr uint64_t kFnvOffset = 0xcbf29ce484222325, kFnvPrime = 0x100000001b3;

}  // namespace

uint64_t Fnv1a(std::string_view bytes) {
  uint64_t hash = kFnvOffset;
  for (unsigned char byte : bytes) hash = (hash ^ byte) * kFnvPrime;
  return hash;
}

// Each step is a bijection of the hash so far, so two different hashes stay different. The shift
// moves high bits to low ones; a product alone never does that.
uint64_t HashWords(std::string_view bytes) {
  uint64_t hash = kFnvOffset ^ bytes.size();
  for (size_t at = 0; at < bytes.size(); at += 8) {
    // in the byte order of the machine, which is little-endian on every supported one
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

std::string HexText(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace mlc
