#include "grammar/schema/check.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "grammar/schema/facts.h"
#include "grammar/schema/keywords.h"
#include "grammar/text/automaton.h"
#include "grammar/text/formats.h"
#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

using Verdicts = std::optional<bool>;

// All of several: false where one is, none where one is not judged.
class All {
 public:
  void Add(Verdicts one) {
    if (one && !*one) is_false_ = true;
    if (!one) is_unknown_ = true;
  }
  Verdicts result() const {
    if (is_false_) return false;
    return is_unknown_ ? Verdicts() : Verdicts(true);
  }

 private:
  bool is_false_ = false, is_unknown_ = false;
};

Verdicts Not(Verdicts verdict) { return verdict ? Verdicts(!*verdict) : verdict; }

bool IsNumberKey(const std::string& key) {
  return key == "minimum" || key == "maximum" || key == "exclusiveMinimum" ||
         key == "exclusiveMaximum" || key == "multipleOf";
}

Verdicts FitsNumber(double value, const std::string& key, const Json& limit, const Json& schema) {
  if (!limit.is_number()) return limit.is_bool() ? Verdicts(true) : Verdicts();
  double bound = limit.as_double();
  const Json* flag = schema.Find(key == "minimum" ? "exclusiveMinimum" : "exclusiveMaximum");
  bool is_out = flag != nullptr && flag->is_bool() && flag->as_bool() && value == bound;
  if (key == "minimum") return value >= bound && !is_out;
  if (key == "maximum") return value <= bound && !is_out;
  if (key == "exclusiveMinimum") return value > bound;
  if (key == "exclusiveMaximum") return value < bound;
  double quotient = value / bound;
  bool is_whole = std::abs(quotient - std::round(quotient)) < 1e-9;
  return is_whole;
}

// What is counted by "min..." and "max..." keywords; -1 where the value is of another type.
int64_t CountOf(const Json& value, const std::string& key) {
  std::string what = key.substr(3);
  if (what == "Length" && value.is_string()) {
    return static_cast<int64_t>(ToCodePoints(value.as_string()).size());
  }
  if (what == "Items" && value.is_array()) return static_cast<int64_t>(value.as_array().size());
  if (what == "Properties" && value.is_object()) {
    return static_cast<int64_t>(value.as_object().size());
  }
  return -1;
}

bool IsOneOf(std::string_view key, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&key](const char* w) { return key == w; });
}

}  // namespace

Verdicts ValueCheck::Fits(const Json& value, const Term& term) {
  Verdicts verdict;
  if (term.part == Term::kAbsent || term.part == Term::kPresent) {
    bool has = value.is_object() && value.Find(term.name) != nullptr;
    if (!value.is_object()) return !term.negated;
    return has == (term.part == Term::kPresent);
  }
  if (term.part == Term::kMember) {
    const Json* member = value.Find(term.name);
    return member == nullptr ? Verdicts(false) : Not(FitsSchema(*member, *term.schema));
  }
  if (term.part == Term::kOwn) {
    All all;
    for (const auto& [key, wanted] : term.schema->as_object()) {
      bool is_apart = IsOneOf(key, {"$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
                                    "dependentSchemas", "$dynamicRef", "$recursiveRef"});
      if (!is_apart) all.Add(FitsKeyword(value, key, *term.schema));
    }
    return all.result();
  }
  verdict = term.is_whole() ? FitsSchema(value, *term.schema)
                            : FitsKeyword(value, std::string(term.part), *term.schema);
  return term.negated ? Not(verdict) : verdict;
}

Verdicts ValueCheck::FitsSchema(const Json& value, const Json& schema) {
  if (schema.is_bool()) return schema.as_bool();
  if (!WorkBudget::Spend(50)) return std::nullopt;
  if (!schema.is_object() || depth_ > 60) return std::nullopt;
  ++depth_;
  All all;
  bool has_ref = schema.Find("$ref") != nullptr && references_.ref_stands_alone();
  for (const auto& [key, wanted] : schema.as_object()) {
    if (!has_ref || key == "$ref") all.Add(FitsKeyword(value, key, schema));
  }
  --depth_;
  return all.result();
}

Verdicts ValueCheck::FitsKeyword(const Json& value, const std::string& key, const Json& schema) {
  const SchemaKeyword* keyword = FindSchemaKeyword(key);
  bool is_annotation = keyword == nullptr || keyword->verdict == Verdict::kAnnotation;
  if (is_annotation || IsOneOf(key, {"then", "else", "nullable"})) return true;
  const Json& wanted = *schema.Find(key);
  if (key == "type") return (TypesNamedIn(schema) & TypeOf(value)) != 0;
  if (key == "const") return EqualValues(value, wanted);
  if (key == "enum" || key == "allOf" || key == "anyOf" || key == "oneOf") {
    return FitsList(value, key, wanted);
  }
  if (key == "not") return Not(FitsSchema(value, wanted));
  if (key == "if") return FitsIf(value, schema);
  if (IsOneOf(key, {"$ref", "$dynamicRef", "$recursiveRef"})) {
    Result<References::Place> place = references_.Follow(schema, key);
    return place.ok() ? FitsSchema(value, *place->schema) : Verdicts();
  }
  if (IsNumberKey(key)) {
    return value.is_number() ? FitsNumber(value.as_double(), key, wanted, schema) : Verdicts(true);
  }
  if (IsOneOf(key, {"minLength", "minItems", "minProperties"}) ||
      IsOneOf(key, {"maxLength", "maxItems", "maxProperties"})) {
    int64_t count = CountOf(value, key);
    if (count < 0) return true;
    if (!wanted.is_number()) return std::nullopt;
    double limit = wanted.as_double(), counted = static_cast<double>(count);
    return key[1] == 'i' ? counted >= limit : counted <= limit;
  }
  if (key == "pattern" || key == "format") return FitsText(value, key, wanted);
  if (value.is_array()) return FitsItems(value, key, schema);
  if (value.is_object()) return FitsMembers(value, key, schema);
  return true;  // the others speak of lists and objects
}

Verdicts ValueCheck::FitsList(const Json& value, const std::string& key, const Json& list) {
  if (!list.is_array()) return std::nullopt;
  if (key == "enum") return IsListed(value, list);
  int fitting = 0, unknown = 0, count = static_cast<int>(list.as_array().size());
  for (const Json& item : list.as_array()) {
    Verdicts fits = FitsSchema(value, item);
    fitting += fits.value_or(false);
    unknown += !fits;
  }
  if (key == "allOf")
    return fitting == count ? Verdicts(true) : unknown ? Verdicts() : Verdicts(false);
  if (key != "oneOf") return fitting > 0 ? Verdicts(true) : unknown ? Verdicts() : Verdicts(false);
  if (fitting > 1) return false;
  return unknown ? Verdicts() : Verdicts(fitting == 1);
}

bool ValueCheck::IsListed(const Json& value, const Json& list) {
  auto [found, is_new] = listed_.try_emplace(&list);
  if (is_new) {
    for (const Json& item : list.as_array()) found->second.insert(TextOf(item));
  }
  return found->second.count(TextOf(value)) != 0;
}

Verdicts ValueCheck::FitsIf(const Json& value, const Json& schema) {
  Verdicts condition = FitsSchema(value, *schema.Find("if"));
  if (!condition) return std::nullopt;
  const Json* chosen = schema.Find(*condition ? "then" : "else");
  return chosen == nullptr ? Verdicts(true) : FitsSchema(value, *chosen);
}

Verdicts ValueCheck::FitsText(const Json& value, const std::string& key, const Json& wanted) {
  if (!value.is_string()) return true;
  if (!wanted.is_string()) return std::nullopt;
  std::string pattern = wanted.as_string();
  if (key == "format") {
    const StringFormat* format = FindStringFormat(pattern);
    if (format == nullptr) return true;
    if (format->pattern.empty()) return std::nullopt;
    pattern = format->pattern;
  }
  Result<Automaton> texts = Automaton::Matching(pattern);
  if (!texts.ok()) return std::nullopt;
  return texts->Accepts(value.as_string());
}

Verdicts ValueCheck::FitsItems(const Json& value, const std::string& key, const Json& schema) {
  const Json::Array& items = value.as_array();
  const Json *tuple = schema.Find("prefixItems"), *rest = schema.Find("items");
  bool is_old = rest != nullptr && rest->is_array();
  if (is_old) tuple = rest;
  if (is_old) rest = schema.Find("additionalItems");
  size_t first = tuple != nullptr && tuple->is_array() ? tuple->as_array().size() : 0;
  All all;
  if (IsOneOf(key, {"items", "prefixItems", "additionalItems"})) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (i < first) all.Add(FitsSchema(items[i], tuple->as_array()[i]));
      if (i >= first && rest != nullptr) all.Add(FitsSchema(items[i], *rest));
    }
    return all.result();
  }
  if (key == "uniqueItems") {
    const Json& flag = *schema.Find(key);
    if (!flag.is_bool() || !flag.as_bool()) return true;
    for (size_t i = 0; i < items.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (EqualValues(items[i], items[j])) return false;
      }
    }
    return true;
  }
  bool speaks_of_objects =
      !IsOneOf(key, {"contains", "minContains", "maxContains", "unevaluatedItems"});
  return speaks_of_objects ? Verdicts(true) : Verdicts();
}

Verdicts ValueCheck::FitsMembers(const Json& value, const std::string& key, const Json& schema) {
  const Json& wanted = *schema.Find(key);
  All all;
  if (key == "required") {
    if (!wanted.is_array()) return std::nullopt;
    for (const Json& name : wanted.as_array()) {
      all.Add(name.is_string() ? Verdicts(value.Find(name.as_string()) != nullptr) : Verdicts());
    }
    return all.result();
  }
  const Json *named = schema.Find("properties"), *patterns = schema.Find("patternProperties");
  if (key == "properties") {
    for (const auto& [name, member] : value.as_object()) {
      const Json* own = named->Find(name);
      if (own != nullptr) all.Add(FitsSchema(member, *own));
    }
    return all.result();
  }
  if (key == "additionalProperties") {
    for (const auto& [name, member] : value.as_object()) {
      if (named != nullptr && named->Find(name) != nullptr) continue;
      if (patterns != nullptr && !patterns->as_object().empty()) return std::nullopt;
      all.Add(FitsSchema(member, wanted));
    }
    return all.result();
  }
  bool speaks_of_items = IsOneOf(key, {"items", "prefixItems", "additionalItems", "contains",
                                       "uniqueItems", "unevaluatedItems"});
  return speaks_of_items ? Verdicts(true) : Verdicts();
}

}  // namespace mlc
