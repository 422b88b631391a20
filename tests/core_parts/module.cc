// mlc_core_parts: inner parts of the core, one by one, for tests and benchmarks in Python. The
// package that users install has no such module: `mlc_llm._core` calls the C ABI alone.
#include "core_parts.h"
#include "status.h"

PYBIND11_MODULE(mlc_core_parts, m) {
  mlc::TranslateErrors(pybind11::module_::import("mlc_llm._core").attr("CoreError"));
  mlc::BindModel(m);
  mlc::BindText(m);
  mlc::BindMedia(m);
  mlc::BindTemplate(m);
}
