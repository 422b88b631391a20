// Random numbers with an address: number `index` of stream `seed` is always the same. So a sequence
// samples the same tokens after a rollback, a preemption or a move to another batch.
#pragma once

#include <cstdint>

namespace mlc {

// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators).
inline uint64_t Mix64(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Uniform in [0, 1).
inline double UniformAt(uint64_t seed, uint64_t index) {
  return static_cast<double>(Mix64(Mix64(seed) ^ Mix64(~index)) >> 11) * 0x1.0p-53;
}

}  // namespace mlc
