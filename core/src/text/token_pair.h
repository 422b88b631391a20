// Two texts as one input of a model that compares them.
#pragma once

#include <cstdint>
#include <vector>

namespace mlc {

struct TokenPair {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;  // of each id; the first text usually has type 0
};

}  // namespace mlc
