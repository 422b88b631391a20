// mlc_llm._core: a thin hand on the C++ core.
#include "bindings.h"
#include "status.h"

PYBIND11_MODULE(_core, m) {
  mlc::BindStatus(m);
  mlc::BindEngine(m);
  mlc::BindModel(m);
  mlc::BindText(m);
  mlc::BindTemplate(m);
}
