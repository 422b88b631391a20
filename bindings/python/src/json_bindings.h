// JSON as the core reads it.
#ifndef MLC_BINDINGS_PYTHON_JSON_BINDINGS_H_
#define MLC_BINDINGS_PYTHON_JSON_BINDINGS_H_

#include <pybind11/pybind11.h>

namespace mlc {

void BindJson(pybind11::module_& m);

}  // namespace mlc

#endif  // MLC_BINDINGS_PYTHON_JSON_BINDINGS_H_
