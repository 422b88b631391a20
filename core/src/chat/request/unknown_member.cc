#include "chat/request/unknown_member.h"

#include <string>

namespace mlc {
namespace {

// The path of the first member of `given` that `kept` does not have; "" when there is none.
std::string FindLost(const Json& given, const Json& kept, const std::string& path) {
  if (given.is_array() && kept.is_array()) {
    const Json::Array& items = given.as_array();
    const Json::Array& others = kept.as_array();
    for (size_t i = 0; i < items.size() && i < others.size(); ++i) {
      std::string lost = FindLost(items[i], others[i], path + "[" + std::to_string(i) + "]");
      if (!lost.empty()) return lost;
    }
  }
  if (!given.is_object() || !kept.is_object()) return "";
  for (const auto& [name, value] : given.as_object()) {
    if (value.is_null()) continue;
    std::string place = path.empty() ? name : path + "." + name;
    const Json* other = kept.Find(name);
    if (other == nullptr) return place;
    std::string lost = FindLost(value, *other, place);
    if (!lost.empty()) return lost;
  }
  return "";
}

}  // namespace

Status CheckNoUnknownMember(const Json& given, const Json& kept) {
  std::string lost = FindLost(given, kept, "");
  if (lost.empty()) return Status();
  return InvalidArgument("Unrecognized parameter: '" + lost +
                         "'. Correct its name, or leave it out.")
      .WithParam(lost)
      .WithReason(Reason::kUnknownParameter);
}

}  // namespace mlc
