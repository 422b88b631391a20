#include "grammar/schema/values.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mlc {

unsigned TypeBitsOf(std::string_view word) {
  constexpr std::pair<std::string_view, unsigned> kTypes[] = {
      {"object", kObjectType}, {"array", kArrayType},     {"string", kStringType},
      {"number", kNumberType}, {"integer", kIntegerType}, {"boolean", kBooleanType},
      {"null", kNullType},     {"any", kAllTypes}};  // the last of the draft of 2010
  for (const auto& [name, bits] : kTypes) {
    if (name == word) return bits;
  }
  return 0;
}

unsigned TypesNamedIn(const Json& schema) {
  const Json* type = schema.Find("type");
  unsigned bits = NullableBits(schema);
  if (type != nullptr && type->is_string()) return bits | TypeBitsOf(type->as_string());
  for (size_t i = 0; type != nullptr && type->is_array() && i < type->as_array().size(); ++i) {
    const Json& word = type->as_array()[i];
    if (word.is_string()) bits |= TypeBitsOf(word.as_string());
  }
  return bits;
}

unsigned NullableBits(const Json& schema) {
  const Json* nullable = schema.Find("nullable");
  bool is_set = nullable != nullptr && nullable->is_bool() && nullable->as_bool();
  return is_set ? kNullType : 0U;
}

unsigned TypeOf(const Json& value) {
  if (!value.is_number()) return TypeBitsOf(value.type_name());
  bool is_whole = value.is_int() || std::floor(value.as_double()) == value.as_double();
  return is_whole ? kIntegerType : kFractionType;
}

bool EqualValues(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    return a.is_int() && b.is_int() ? a == b : a.as_double() == b.as_double();
  }
  if (a.is_array() && b.is_array()) {
    return std::equal(a.as_array().begin(), a.as_array().end(), b.as_array().begin(),
                      b.as_array().end(), EqualValues);
  }
  if (!a.is_object() || !b.is_object()) return a == b;
  return a.as_object().size() == b.as_object().size() &&
         std::all_of(a.as_object().begin(), a.as_object().end(), [&b](const Json::Member& member) {
           const Json* other = b.Find(member.first);
           return other != nullptr && EqualValues(member.second, *other);
         });
}

std::string TextOf(const Json& value) {
  constexpr double kMost = 9223372036854774784.0;  // of int64 that are doubles
  if (value.is_number() && !value.is_int() && std::floor(value.as_double()) == value.as_double() &&
      std::abs(value.as_double()) <= kMost) {
    return std::to_string(static_cast<int64_t>(value.as_double()));
  }
  std::vector<std::string> parts;
  if (value.is_array()) {
    for (const Json& item : value.as_array()) parts.push_back(TextOf(item));
  } else if (value.is_object()) {
    for (const auto& [name, member] : value.as_object()) {
      if (value.Find(name) != &member) continue;  // a later one of this name counts
      parts.push_back(Json(name).Dump() + ":" + TextOf(member));
    }
    std::sort(parts.begin(), parts.end());
  } else {
    return value.Dump();
  }
  std::string out = value.is_array() ? "[" : "{";
  for (const std::string& part : parts) out += part + ",";
  return out;
}

}  // namespace mlc
