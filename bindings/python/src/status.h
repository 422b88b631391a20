// From an error to Python: one exception type carries the error's JSON; the package's error tree
// (mlc_llm/errors) turns it into its typed classes.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>

#include "base/status.h"
#include "chat/protocol/error_json.h"

namespace mlc {

// Becomes `mlc_llm._core.CoreError(json: str)`.
struct CoreError {
  std::string json;

  explicit CoreError(std::string text) : json(std::move(text)) {}
  explicit CoreError(const Status& status) : json(ErrorJson(status).Dump()) {}
};

inline void ThrowIfError(const Status& status) {
  if (!status.ok()) throw CoreError(status);
}

template <typename T>
T Unwrap(Result<T> result) {
  if (!result.ok()) throw CoreError(result.status());
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
      PyErr_SetObject(translated, pybind11::str(e.json).ptr());
    }
  });
}

}  // namespace mlc
