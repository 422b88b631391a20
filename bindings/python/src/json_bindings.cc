#include "json_bindings.h"

#include <pybind11/stl.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/request_json.h"
#include "interpreter_lock.h"
#include "status.h"

namespace py = pybind11;

namespace mlc {
namespace {

py::object ToPython(const Json& json) {
  switch (json.type()) {
    case Json::Type::kNull:
      return py::none();
    case Json::Type::kBool:
      return py::bool_(json.as_bool());
    case Json::Type::kInt:
      return py::int_(json.as_int());
    case Json::Type::kDouble:
      return py::float_(json.as_double());
    case Json::Type::kString:
      return py::str(json.as_string());
    case Json::Type::kArray: {
      py::list list;
      for (const Json& item : json.as_array()) list.append(ToPython(item));
      return std::move(list);
    }
    case Json::Type::kObject: {
      py::dict dict;  // of equal keys the last one counts, as in Json::Find
      for (const auto& [key, value] : json.as_object()) dict[py::str(key)] = ToPython(value);
      return std::move(dict);
    }
  }
  return py::none();
}

// Parses without the interpreter's lock: a large text takes a while.
Json Parse(std::string_view text) {
  Result<Json> json = [&] {
    WithoutLock unlocked;
    return ParseRequestJson(text);
  }();
  return Unwrap(std::move(json));
}

py::object ReadJson(const py::bytes& text) { return ToPython(Parse(text)); }

// The members of an object that have one of `names`.
py::dict ReadMembers(const py::bytes& text, const std::vector<std::string>& names) {
  Json json = Parse(text);
  py::dict found;
  for (const std::string& name : names) {
    if (const Json* value = json.Find(name)) found[py::str(name)] = ToPython(*value);
  }
  return found;
}

}  // namespace

void BindJson(py::module_& m) {
  m.def("read_json", &ReadJson, py::arg("text"), "The value that the core reads in a text.");
  m.def("read_members", &ReadMembers, py::arg("text"), py::arg("names"),
        "Members of the object that the core reads in a text; {} if it is no object.");
}

}  // namespace mlc
