// From Status to Python: one exception type carries code, message, param and reason; the package's
// error tree (mlc_llm/errors.py) turns it into its typed classes.
#ifndef MLC_BINDINGS_PYTHON_STATUS_H_
#define MLC_BINDINGS_PYTHON_STATUS_H_

#include <pybind11/pybind11.h>

#include "base/status.h"

namespace mlc {

// Becomes `mlc_llm._core.CoreError(code: int, message: str, param: str, reason: str)`.
struct CoreError {
  Status status;
};

inline void ThrowIfError(const Status& status) {
  if (!status.ok()) throw CoreError{status};
}

template <typename T>
T Unwrap(Result<T> result) {
  if (!result.ok()) throw CoreError{result.status()};
  return std::move(result).value();
}

// Creates the exception type in the module and the translation to it. Called once per module.
inline void BindStatus(pybind11::module_& m) {
  namespace py = pybind11;
  static PyObject* type = nullptr;
  type = PyErr_NewException("mlc_llm._core.CoreError", PyExc_Exception, nullptr);
  m.attr("CoreError") = py::handle(type);
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const CoreError& e) {
      const Status& s = e.status;
      py::tuple args =
          py::make_tuple(static_cast<int>(s.code()), s.message(), s.param(), s.reason());
      PyErr_SetObject(type, args.ptr());
    }
  });
}

}  // namespace mlc

#endif  // MLC_BINDINGS_PYTHON_STATUS_H_
