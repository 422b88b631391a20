// The parts of the extension module `mlc_llm._core`, one function and one file each.
#ifndef MLC_BINDINGS_PYTHON_BINDINGS_H_
#define MLC_BINDINGS_PYTHON_BINDINGS_H_

#include <pybind11/pybind11.h>

#include "base/json.h"

namespace mlc {

void BindEngine(pybind11::module_& m);
void BindModel(pybind11::module_& m);
void BindText(pybind11::module_& m);
void BindTemplate(pybind11::module_& m);

}  // namespace mlc

#endif  // MLC_BINDINGS_PYTHON_BINDINGS_H_
