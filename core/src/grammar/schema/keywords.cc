#include "grammar/schema/keywords.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/nearest_name.h"

namespace mlc {

const std::vector<SchemaKeyword>& SchemaKeywords() {
  constexpr Verdict kEnforced = Verdict::kEnforced, kAnnotation = Verdict::kAnnotation;
  static const std::vector<SchemaKeyword> keywords = {
      {"$schema", "core", kAnnotation, ""},
      {"$vocabulary", "core", kAnnotation, ""},
      {"$id", "core", kAnnotation, "what it names can be referred to"},
      {"$anchor", "core", kAnnotation, "a `$ref` may name it"},
      {"$dynamicAnchor", "core", kAnnotation, "a `$ref` may name it"},
      {"$ref", "core", kEnforced,
       "within the document, by pointer, `$id` or `$anchor`; beside it nothing counts up to draft "
       "7"},
      {"$dynamicRef", "core", kEnforced, "as `$ref`"},
      {"$defs", "core", kAnnotation, "what a `$ref` names is read"},
      {"$comment", "core", kAnnotation, ""},
      {"allOf", "applicator", kEnforced, ""},
      {"anyOf", "applicator", kEnforced, ""},
      {"oneOf", "applicator", kEnforced,
       "what fits two branches is taken away; refused where that has no grammar"},
      {"not", "applicator", kEnforced,
       "of types, values, bounds, lengths, `pattern`, `required`, `properties`, "
       "`additionalProperties`, `items`, `contains`, lists of these; else refused"},
      {"if", "applicator", kEnforced, "as two cases; refused where `not` of it is"},
      {"then", "applicator", kEnforced, ""},
      {"else", "applicator", kEnforced, ""},
      {"dependentSchemas", "applicator", kEnforced, "as two cases each"},
      {"prefixItems", "applicator", kEnforced,
       "without `items` nothing is written behind them, unless `minItems` asks for more"},
      {"items", "applicator", kEnforced, ""},
      {"contains", "applicator", kEnforced, "one of them, without `prefixItems`; else refused"},
      {"properties", "applicator", kEnforced, "written in this order"},
      {"patternProperties", "applicator", kEnforced, ""},
      {"additionalProperties", "applicator", kEnforced,
       "absent beside `properties`: none are written"},
      {"propertyNames", "applicator", kEnforced, "one schema of strings"},
      {"unevaluatedItems", "unevaluated", kEnforced,
       "as `items`; refused where it must see what other schemas say"},
      {"unevaluatedProperties", "unevaluated", kEnforced,
       "refused where it must see what schemas beside its own say"},
      {"type", "validation", kEnforced, ""},
      {"const", "validation", kEnforced, ""},
      {"enum", "validation", kEnforced, ""},
      {"multipleOf", "validation", kEnforced, "refused where it takes over 2500 rules"},
      {"maximum", "validation", kEnforced, ""},
      {"exclusiveMaximum", "validation", kEnforced, ""},
      {"minimum", "validation", kEnforced, ""},
      {"exclusiveMinimum", "validation", kEnforced, ""},
      {"maxLength", "validation", kEnforced,
       "texts of over 20,000 characters are not written, beside a `pattern` perhaps none of over "
       "100"},
      {"minLength", "validation", kEnforced, "as `maxLength`"},
      {"pattern", "validation", kEnforced,
       "matches anywhere but for its `^` and `$`; look-ahead and `\\b` are read; look-behind and "
       "back-references are refused"},
      {"maxItems", "validation", kEnforced, ""},
      {"minItems", "validation", kEnforced, ""},
      {"uniqueItems", "validation", kEnforced,
       "items with listed values, of more than 7 in the order of the list; others are compared "
       "while they are written, but not in structural tags"},
      {"maxContains", "validation", kEnforced, ""},
      {"minContains", "validation", kEnforced, ""},
      {"maxProperties", "validation", kEnforced, "refused where it needs over 4000 rules"},
      {"minProperties", "validation", kEnforced,
       "at most one more than the named properties; else refused"},
      {"required", "validation", kEnforced, ""},
      {"dependentRequired", "validation", kEnforced, "at most 12 pairs of names; else refused"},
      {"format", "format", kEnforced, "the values below; others are annotations"},
      {"contentEncoding", "content", kAnnotation, ""},
      {"contentMediaType", "content", kAnnotation, ""},
      {"contentSchema", "content", kAnnotation, ""},
      {"title", "meta-data", kAnnotation, ""},
      {"description", "meta-data", kAnnotation, ""},
      {"default", "meta-data", kAnnotation, ""},
      {"deprecated", "meta-data", kAnnotation, ""},
      {"readOnly", "meta-data", kAnnotation, ""},
      {"writeOnly", "meta-data", kAnnotation, ""},
      {"examples", "meta-data", kAnnotation, ""},
      {"id", "older drafts", kAnnotation, "as `$id`"},
      {"definitions", "older drafts", kAnnotation, "what a `$ref` names is read"},
      {"dependencies", "older drafts", kEnforced, "as `dependentRequired` and `dependentSchemas`"},
      {"additionalItems", "older drafts", kEnforced, "behind a list of `items`"},
      {"$recursiveRef", "older drafts", kEnforced, "as `$ref`"},
      {"$recursiveAnchor", "older drafts", kAnnotation, ""},
      {"discriminator", "OpenAPI", kAnnotation, ""},
      {"example", "OpenAPI", kAnnotation, ""},
      {"externalDocs", "OpenAPI", kAnnotation, ""},
      {"nullable", "OpenAPI", kEnforced, "adds `null` to `type`"},
  };
  return keywords;
}

const SchemaKeyword* FindSchemaKeyword(std::string_view name) {
  static const auto* by_name = [] {
    auto* all = new std::unordered_map<std::string_view, const SchemaKeyword*>;
    for (const SchemaKeyword& keyword : SchemaKeywords()) all->emplace(keyword.name, &keyword);
    return all;
  }();
  auto found = by_name->find(name);
  return found == by_name->end() ? nullptr : found->second;
}

namespace {

std::string Lower(std::string_view word) {
  std::string out(word);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

}  // namespace

std::string_view MisspeltKeyword(std::string_view word) {
  constexpr size_t kShort = 5, kLong = 10, kLongest = 30;
  bool is_own = word.compare(0, 2, "x-") == 0 || word.compare(0, 1, "_") == 0;
  if (word.size() > kLongest || is_own) return "";
  std::string lower = Lower(word);
  static const auto* enforced = [] {
    auto* all = new std::vector<std::pair<std::string, std::string_view>>;
    for (const SchemaKeyword& keyword : SchemaKeywords()) {
      if (keyword.verdict != Verdict::kAnnotation) {
        all->emplace_back(Lower(keyword.name), keyword.name);
      }
    }
    return all;
  }();
  for (const auto& [name, keyword] : *enforced) {
    size_t most = name.size() <= kShort ? 0 : name.size() < kLong ? 1 : 2;
    size_t longer = std::max(name.size(), lower.size()),
           shorter = std::min(name.size(), lower.size());
    if (longer - shorter <= most && EditDistance(name, lower) <= most) return keyword;
  }
  return "";
}

}  // namespace mlc
