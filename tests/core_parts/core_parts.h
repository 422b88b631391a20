// The parts of the extension module `mlc_core_parts`, one function and one file each.
#pragma once

#include <pybind11/pybind11.h>

namespace mlc {

void BindModel(pybind11::module_& m);
void BindText(pybind11::module_& m);
void BindMedia(pybind11::module_& m);
void BindTemplate(pybind11::module_& m);

}  // namespace mlc
