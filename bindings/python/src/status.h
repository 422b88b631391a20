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

// Errors of this module become exceptions of `type`. Called once per module, which keeps `type`.
inline void TranslateErrors(pybind11::object type) {
  static PyObject* translated = nullptr;
  translated = type.release().ptr();
  pybind11::register_local_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const CoreError& e) {
      const Status& s = e.status;
      pybind11::tuple args =
          pybind11::make_tuple(static_cast<int>(s.code()), s.message(), s.param(), s.reason());
      PyErr_SetObject(translated, args.ptr());
    }
  });
}

}  // namespace mlc

#endif  // MLC_BINDINGS_PYTHON_STATUS_H_
