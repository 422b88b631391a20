#include "grammar/schema/same_schemas.h"

#include <algorithm>
#include <string_view>

namespace mlc {
namespace {

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool IsSchema(const Json& value) { return value.is_object() || value.is_bool(); }

}  // namespace

void AddSized(std::string_view text, std::string* out) {
  *out += std::to_string(text.size());
  *out += ':';
  *out += text;
}

int SameSchemas::NumberOf(const Json& schema) {
  auto known = numbers_.find(&schema);
  if (known != numbers_.end()) return known->second;
  std::string text;
  if (schema.is_object()) {
    for (const auto& [name, value] : schema.as_object()) AddKeyword(name, value, &text);
  } else {
    text = schema.Dump();
  }
  auto [same, is_new] = by_text_.emplace(std::move(text), static_cast<int>(firsts_.size()));
  if (is_new) firsts_.push_back(&schema);
  numbers_.emplace(&schema, same->second);
  return same->second;
}

// The value as the number of a schema, as a list or map of such numbers, or as it is.
void SameSchemas::AddKeyword(const std::string& name, const Json& value, std::string* text) {
  const SchemaKeyword* keyword = FindSchemaKeyword(name);
  bool says_nothing =
      keyword == nullptr ? misspelt_.Of(name).empty() : keyword->verdict == Verdict::kAnnotation;
  if (says_nothing) return;
  AddSized(name, text);
  auto add = [&](const Json& one) {
    AddSized(IsSchema(one) ? "#" + std::to_string(NumberOf(one)) : one.Dump(), text);
  };
  bool has_schemas = keyword != nullptr && keyword->vocabulary != "validation";
  bool is_map = value.is_object() && IsOneOf(name, {"properties", "patternProperties",
                                                    "dependencies", "dependentSchemas"});
  if (is_map) {
    *text += '{';
    for (const auto& [key, one] : value.as_object()) {
      AddSized(key, text);
      add(one);
    }
    *text += '}';
  } else if (has_schemas && value.is_array()) {
    *text += '[';
    for (const Json& one : value.as_array()) add(one);
    *text += ']';
  } else if (has_schemas) {
    add(value);
  } else {
    AddSized(value.Dump(), text);
  }
}

}  // namespace mlc
