// An input of a run of a kernel program.
#pragma once

#include <cstdint>
#include <vector>

namespace mlc {

// On the host.
struct ProgramInput {
  const void* data = nullptr;
  int64_t size = 0;  // of the first dimension; the program knows the others
};

inline ProgramInput InputOf(const std::vector<int32_t>& values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}

}  // namespace mlc
