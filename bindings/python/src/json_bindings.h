// JSON as the core reads it.
#pragma once

#include <pybind11/pybind11.h>

namespace mlc {

void BindJson(pybind11::module_& m);

}  // namespace mlc
