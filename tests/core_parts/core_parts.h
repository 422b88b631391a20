// The parts of the extension module `mlc_core_parts`, one function and one file each.
#ifndef MLC_TESTS_CORE_PARTS_CORE_PARTS_H_
#define MLC_TESTS_CORE_PARTS_CORE_PARTS_H_

#include <pybind11/pybind11.h>

namespace mlc {

void BindModel(pybind11::module_& m);
void BindText(pybind11::module_& m);
void BindMedia(pybind11::module_& m);
void BindTemplate(pybind11::module_& m);

}  // namespace mlc

#endif  // MLC_TESTS_CORE_PARTS_CORE_PARTS_H_
