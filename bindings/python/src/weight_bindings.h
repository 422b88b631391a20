// The functions of weight_math.h in Python, over buffers of bytes.
#pragma once

#include <pybind11/pybind11.h>

namespace mlc {

void BindWeights(pybind11::module_& m);

}  // namespace mlc
