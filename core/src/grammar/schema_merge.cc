#include "grammar/schema_merge.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "grammar/schema_keywords.h"

namespace mlc {
namespace {

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Json BothOf(const Json& a, const Json& b) { return Json().Set("allOf", Json(Json::Array{a, b})); }

std::vector<std::string> TypesOf(const Json& type) {
  std::vector<std::string> types;
  if (type.is_string()) types.push_back(type.as_string());
  if (type.is_array()) {
    for (const Json& item : type.as_array()) {
      if (item.is_string()) types.push_back(item.as_string());
    }
  }
  return types;
}

Json CommonTypes(const Json& a, const Json& b) {
  Json common = Json::MakeArray();
  std::vector<std::string> other = TypesOf(b);
  auto has = [&](const char* type) {
    return std::find(other.begin(), other.end(), type) != other.end();
  };
  for (const std::string& type : TypesOf(a)) {
    if (has(type.c_str()) || (type == "integer" && has("number"))) {
      common.Append(type);
    } else if (type == "number" && has("integer")) {
      common.Append("integer");
    }
  }
  return common;
}

Json CommonValues(const Json& a, const Json& b) {
  Json common = Json::MakeArray();
  for (const Json& value : a.as_array()) {
    const Json::Array& others = b.as_array();
    if (std::find(others.begin(), others.end(), value) != others.end()) common.Append(value);
  }
  return common;
}

Json Union(const Json& a, const Json& b) {
  Json all = a;
  for (const Json& item : b.as_array()) {
    const Json::Array& have = all.as_array();
    if (std::find(have.begin(), have.end(), item) == have.end()) all.Append(item);
  }
  return all;
}

// What `a` says of members that only `b` names.
void ConstrainOthers(const Json& a, const Json& b, Json* properties) {
  const Json* additional = a.Find("additionalProperties");
  const Json* named = a.Find("properties");
  const Json* theirs = b.Find("properties");
  if (additional == nullptr || theirs == nullptr || !theirs->is_object()) return;
  for (const auto& [name, schema] : theirs->as_object()) {
    if (named != nullptr && named->Find(name) != nullptr) continue;
    properties->Set(name, BothOf(schema, *additional));
  }
}

Json MergeProperties(const Json& a, const Json& b) {
  const Json* first = a.Find("properties");
  const Json* second = b.Find("properties");
  Json merged = first != nullptr ? *first : Json::MakeObject();
  if (second != nullptr) {
    for (const auto& [name, schema] : second->as_object()) {
      const Json* mine = merged.Find(name);
      merged.Set(name, mine == nullptr || *mine == schema ? schema : BothOf(*mine, schema));
    }
  }
  ConstrainOthers(a, b, &merged);
  ConstrainOthers(b, a, &merged);
  return merged;
}

Status CheckMergeable(const Json& a, const Json& b, const std::string& path) {
  auto has = [](const Json& schema, const char* key) { return schema.Find(key) != nullptr; };
  for (const auto& [one, other] : {std::pair<const Json*, const Json*>{&a, &b}, {&b, &a}}) {
    if (has(*one, "patternProperties") &&
        (has(*other, "properties") || has(*other, "additionalProperties"))) {
      return RefuseKeyword(path, "patternProperties", "two schemas speak of the same members");
    }
    if (has(*one, "prefixItems") && !has(*other, "prefixItems") && has(*other, "items")) {
      return RefuseKeyword(path, "prefixItems", "another schema speaks of the same items");
    }
  }
  return Status();
}

// The value of a keyword that both have, with different values.
Result<Json> MergeKeyword(const std::string& key, const Json& a, const Json& b,
                          const std::string& path) {
  if (key == "type") return CommonTypes(a, b);
  if (key == "enum" && a.is_array() && b.is_array()) return CommonValues(a, b);
  if (key == "required" && a.is_array() && b.is_array()) return Union(a, b);
  if (key == "uniqueItems") return Json(true);
  bool both_numbers = a.is_number() && b.is_number();
  bool is_lower =
      IsOneOf(key, {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"});
  bool is_upper =
      IsOneOf(key, {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"});
  if (both_numbers && is_lower) return a.as_double() > b.as_double() ? a : b;
  if (both_numbers && is_upper) return a.as_double() < b.as_double() ? a : b;
  if (IsOneOf(key, {"items", "additionalProperties", "propertyNames"})) return BothOf(a, b);
  return RefuseKeyword(path, key, "two of them would have to hold at once");
}

double LengthOf(const Json& text) {
  return static_cast<double>(ToCodePoints(text.as_string()).size());
}

bool IsInteger(const Json& value) {
  return value.is_int() ||
         (value.is_number() && std::floor(value.as_double()) == value.as_double());
}

}  // namespace

std::string PointerTo(const std::string& path, std::string_view member) {
  std::string out = path + "/";
  for (char c : member) {
    if (c == '~') out += "~0";
    if (c == '/') out += "~1";
    if (c != '~' && c != '/') out += c;
  }
  return out;
}

Status RefuseKeyword(const std::string& path, std::string_view keyword, const std::string& why) {
  constexpr size_t kLongest = 80;
  return InvalidArgument(PointerTo(path, keyword.substr(0, kLongest)) +
                         " cannot be enforced: " + why);
}

Json OwnAssertions(const Json& schema) {
  Json own = Json::MakeObject();
  for (const auto& [key, value] : schema.as_object()) {
    const SchemaKeyword* keyword = FindSchemaKeyword(key);
    if (keyword == nullptr || keyword->verdict != Verdict::kEnforced) continue;
    if (IsOneOf(key, {"$ref", "allOf", "anyOf", "oneOf"})) continue;
    if (key == "unevaluatedProperties" || key == "unevaluatedItems") {
      const char* same = key == "unevaluatedItems" ? "items" : "additionalProperties";
      if (schema.Find(same) == nullptr) own.Set(same, value);
      continue;
    }
    own.Set(key, value);
  }
  return own;
}

bool HasType(const Json& schema, std::string_view type) {
  const Json* types = schema.Find("type");
  if (types == nullptr) return false;
  for (const std::string& word : TypesOf(*types)) {
    if (word == type || (type == "integer" && word == "number")) return true;
  }
  return false;
}

bool Admits(const Json& schema, const Json& value) {
  if (schema.Find("type") != nullptr) {
    const char* type = value.is_number() ? "number" : value.type_name();
    bool fits = HasType(schema, type) || (IsInteger(value) && HasType(schema, "integer"));
    if (!fits) return false;
  }
  auto above = [&](const char* key, double bound) {
    const Json* limit = schema.Find(key);
    return limit != nullptr && limit->is_number() && bound > limit->as_double();
  };
  auto below = [&](const char* key, double bound) {
    const Json* limit = schema.Find(key);
    return limit != nullptr && limit->is_number() && bound < limit->as_double();
  };
  auto equal = [&](const char* key, double bound) {
    const Json* limit = schema.Find(key);
    return limit != nullptr && limit->is_number() && bound == limit->as_double();
  };
  if (value.is_number()) {
    double v = value.as_double();
    return !above("maximum", v) && !below("minimum", v) && !above("exclusiveMaximum", v) &&
           !below("exclusiveMinimum", v) && !equal("exclusiveMaximum", v) &&
           !equal("exclusiveMinimum", v);
  }
  if (value.is_string()) {
    return !above("maxLength", LengthOf(value)) && !below("minLength", LengthOf(value));
  }
  return true;
}

Result<Json> MergeSchemas(const Json& a, const Json& b, const std::string& path) {
  MLC_RETURN_IF_ERROR(CheckMergeable(a, b, path));
  Json merged = a;
  for (const auto& [key, value] : b.as_object()) {
    const Json* mine = a.Find(key);
    if (mine == nullptr || *mine == value) {
      merged.Set(key, value);
    } else if (key == "const") {
      return Json(false);
    } else if (key != "properties") {
      MLC_ASSIGN_OR_RETURN(Json both, MergeKeyword(key, *mine, value, path));
      bool is_empty = (key == "type" || key == "enum") && both.as_array().empty();
      if (is_empty) return Json(false);
      merged.Set(key, std::move(both));
    }
  }
  for (const Json* schema : {&a, &b}) {
    const Json* properties = schema->Find("properties");
    if (properties != nullptr && !properties->is_object()) {
      return RefuseKeyword(path, "properties", "it must be an object");
    }
  }
  if (a.Find("properties") != nullptr || b.Find("properties") != nullptr) {
    merged.Set("properties", MergeProperties(a, b));
  }
  return merged;
}

}  // namespace mlc
