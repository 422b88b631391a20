#include "base/hash.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mlc {
namespace {

constexpr uint64_t kFnvOffset = 0xcbf29ce484222325, kFnvPrime = 0x100000001b3;

// A bijection of the hash so far, so two different hashes stay different. The shift moves high bits
// to low ones; a product alone never does that.
uint64_t Mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

// Eight bytes, or the last ones and zeros.
uint64_t WordAt(std::string_view bytes, size_t at) {
  // in the byte order of the machine, which is little-endian on every supported one
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
  return word;
}

}  // namespace

uint64_t Fnv1a(std::string_view bytes) {
  uint64_t hash = kFnvOffset;
  for (unsigned char byte : bytes) hash = (hash ^ byte) * kFnvPrime;
  return hash;
}

uint64_t HashWords(std::string_view bytes) {
  uint64_t hash = kFnvOffset ^ bytes.size();
  for (size_t at = 0; at < bytes.size(); at += 8) hash = Mixed(hash, WordAt(bytes, at));
  return hash;
}

// The CPU works on four hashes at the same time, since none of them waits for another.
uint64_t HashLanes(std::string_view bytes) {
  constexpr size_t kLanes = 4, kRound = 8 * kLanes;
  uint64_t lanes[kLanes] = {1, 2, 3, 4};
  size_t rounds = bytes.size() / kRound * kRound;
  for (size_t at = 0; at < rounds; at += kRound) {
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = Mixed(lanes[i], WordAt(bytes, at + 8 * i));
  }
  uint64_t hash = Mixed(HashWords(bytes.substr(rounds)), bytes.size());
  for (uint64_t lane : lanes) hash = Mixed(hash, lane);
  return hash;
}

std::string HexText(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace mlc
