// An argument of a compiled function, by its name.
#pragma once

#include <string>

#include "runtime/tensor.h"

namespace mlc {

struct InputSpec {
  std::string name;
  std::string size;  // the run-time size of its first extent; "": it is a list of tensors
  Shape row;         // the other extents
  DType dtype = DType::kInt32;
};

}  // namespace mlc
