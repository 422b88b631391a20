// Flattens terms: follows references and moves `allOf` and `not` inwards, until each term is either
// about the value itself or a choice.
#include <algorithm>

#include "grammar/schema/keywords.h"
#include "grammar/schema/reader.h"
#include "grammar/text/formats.h"

namespace mlc {
namespace {

constexpr size_t kMaxWay = 96;  // references and lists that lead from one to the next

bool IsTrue(const Json* flag) { return flag != nullptr && flag->is_bool() && flag->as_bool(); }

// The enforced keywords, without those that only change the meaning of another keyword.
bool IsAsserting(const Json& schema, const std::string& key) {
  const SchemaKeyword* keyword = FindSchemaKeyword(key);
  if (keyword == nullptr || keyword->verdict == Verdict::kAnnotation) return false;
  if (key == "then" || key == "else" || key == "nullable" || key == "minContains" ||
      key == "maxContains" || key == "additionalItems") {
    return key == "additionalItems" && schema.Find("items") != nullptr &&
           schema.Find("items")->is_array();
  }
  const Json& value = *schema.Find(key);
  if (key == "if") return schema.Find("then") != nullptr || schema.Find("else") != nullptr;
  bool is_flag = key == "exclusiveMinimum" || key == "exclusiveMaximum";
  if (is_flag && value.is_bool()) return false;
  if (key == "format") return value.is_string() && FindStringFormat(value.as_string()) != nullptr;
  if (key == "uniqueItems") return IsTrue(&value);
  bool is_all = key == "items" || key == "additionalProperties" || key == "unevaluatedItems" ||
                key == "unevaluatedProperties" || key == "propertyNames";
  if (is_all && value.is_bool()) return !value.as_bool();
  if (is_all && value.is_object()) return !value.as_object().empty();
  bool is_empty_map = value.is_object() && value.as_object().empty();
  if ((key == "properties" || key == "patternProperties") && is_empty_map) return false;
  return !(key == "required" && value.is_array() && value.as_array().empty());
}

bool IsOwn(const std::string& key) {
  for (const char* other : {"$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf",
                            "not", "if", "then", "else", "dependentSchemas"}) {
    if (key == other) return false;
  }
  return true;
}

}  // namespace

const std::vector<std::string>& SchemaReader::Asserting(const Json& schema) const {
  auto [found, is_new] = asserting_.try_emplace(&schema);
  std::vector<std::string>& keys = found->second;
  if (!is_new) return keys;
  const char* reference = ReferenceOf(schema);
  if (reference != nullptr && references_.ref_stands_alone()) return keys = {reference};
  for (const auto& [key, value] : schema.as_object()) {
    bool is_last = schema.Find(key) == &value;  // of those of one name
    if (is_last && IsAsserting(schema, key)) keys.push_back(key);
  }
  return keys;
}

Status SchemaReader::Check(const Json& schema, const Path& path) {
  if (sound_.count(&schema) != 0) return Status();
  bool is_checked = !checked_.insert(&schema).second, is_sound = true;
  num_reports_ += is_checked;
  if (is_checked) return Status();
  for (const auto& [key, value] : schema.as_object()) {
    std::string_view meant = FindSchemaKeyword(key) == nullptr ? misspelt_.Of(key) : "";
    if (meant.empty()) continue;
    is_sound = false;
    Status status = LeaveOut(PointerTo(path, key.substr(0, 80)),
                             "it is no keyword; '" + std::string(meant) + "' may be meant");
    if (!status.ok()) {
      checked_.erase(&schema);  // who looks ahead does not report it
      refusal_.reset();         // a mistake, not what has no grammar
    }
    MLC_RETURN_IF_ERROR(status);
  }
  if (is_sound) sound_.insert(&schema);
  return Status();
}

// The schema that a term names by a reference alone, or by `allOf` of one, however often.
Result<Term> SchemaReader::Direct(Term term) {
  for (size_t steps = 0; term.is_whole() && !term.negated && term.schema->is_object(); ++steps) {
    if (steps > kMaxWay)
      return InvalidArgument((term.path.empty() ? "the schema" : term.path.text()) +
                             " refers to itself without end");
    const std::vector<std::string>& keys = Asserting(*term.schema);
    if (keys.size() != 1) return term;
    if (ReferenceOf(*term.schema) != nullptr) {
      MLC_RETURN_IF_ERROR(Check(*term.schema, term.path));
      MLC_ASSIGN_OR_RETURN(std::optional<Term> target, Target(term));
      if (!target) return term;
      term = *target;
      continue;
    }
    const Json& list = *term.schema->Find(keys[0]);
    bool is_list = keys[0] == "allOf" || keys[0] == "anyOf" || keys[0] == "oneOf";
    if (!is_list || !list.is_array() || list.as_array().size() != 1) return term;
    MLC_RETURN_IF_ERROR(Check(*term.schema, term.path));
    term = ItemTerm(term, keys[0], 0, false);
  }
  return term;
}

// None where the reference is left out.
Result<std::optional<Term>> SchemaReader::Target(const Term& term) {
  auto known = targets_.find(term.schema);
  if (known == targets_.end()) {
    std::string key = ReferenceOf(*term.schema), where = PointerTo(term.path, key);
    Result<References::Place> place = references_.Follow(*term.schema, key);
    if (!place.ok() && place.status().code() == StatusCode::kUnsupported) {
      MLC_RETURN_IF_ERROR(LeaveOut(where, place.status().message()));
      return std::optional<Term>();
    }
    if (!place.ok()) return InvalidArgument(where + " " + place.status().message());
    std::pair<const Json*, Path> target{place->schema, place->path};
    known = targets_.emplace(term.schema, std::move(target)).first;
  }
  Term target;
  target.schema = known->second.first;
  target.path = known->second.second;
  target.negated = term.negated;
  target.is_hidden = term.is_hidden;
  return std::optional<Term>(std::move(target));
}

Status SchemaReader::Flatten(const Term& term, Flat* out) {
  if (term.part == Term::kOwn || term.part == Term::kAbsent || term.part == Term::kPresent ||
      term.part == Term::kMember) {
    out->own.push_back(term);
    return Status();
  }
  if (!term.is_whole() && term.negated) return FlattenNegatedPart(term, out);
  if (!term.is_whole()) {
    out->choices.push_back(term);
    return Status();
  }
  const Json& schema = *term.schema;
  if (schema.is_bool()) {
    if (schema.as_bool() == term.negated) out->is_never = true;
    return Status();
  }
  auto place = [&term] { return term.path.empty() ? "the schema" : term.path.text(); };
  if (!schema.is_object()) return InvalidArgument(place() + " must be an object or a boolean");
  std::pair<const Json*, bool> here{&schema, term.negated};
  if (std::find(out->way.begin(), out->way.end(), here) != out->way.end()) {
    return InvalidArgument(place() + " refers to itself without end");
  }
  bool sees_all = out->way.empty() && term.sees_all;
  auto asked = std::make_tuple(&schema, term.negated, term.is_option, term.is_hidden, sees_all);
  if (!out->done.insert(asked).second) return Status();
  if (out->way.size() >= kMaxWay) return InvalidArgument(place() + " is nested too deeply");
  MLC_RETURN_IF_ERROR(Check(schema, term.path));
  out->way.push_back(here);
  Status status = term.negated ? FlattenNegated(term, out) : FlattenWhole(term, out);
  out->way.pop_back();
  return status;
}

Status SchemaReader::FlattenWhole(const Term& term, Flat* out) {
  const Json& schema = *term.schema;
  bool has_own = false;
  for (const std::string& key : Asserting(schema)) {
    const Json& value = *schema.Find(key);
    has_own = has_own || IsOwn(key);
    if (IsReference(key)) {
      MLC_ASSIGN_OR_RETURN(std::optional<Term> target, Target(term));
      if (target) MLC_RETURN_IF_ERROR(Flatten(*target, out));
    } else if (key == "allOf" || key == "anyOf" || key == "oneOf") {
      MLC_RETURN_IF_ERROR(CheckSchemaList(value, Path(term.path, key)));
      bool is_all = key == "allOf" || value.as_array().size() == 1;
      for (size_t i = 0; is_all && i < value.as_array().size(); ++i) {
        MLC_RETURN_IF_ERROR(Flatten(ItemTerm(term, key, i, false), out));
      }
      if (!is_all) out->choices.push_back(NamedTerm(term, key, "", term.path));
    } else if (key == "not") {
      MLC_RETURN_IF_ERROR(Flatten(SubTerm(term, value, key, true), out));
    } else if (key == "if") {
      out->choices.push_back(NamedTerm(term, "if", "", term.path));
    }
  }
  MLC_RETURN_IF_ERROR(AddDependencies(schema, term.path, out));
  if (!has_own && !schema.Find("nullable")) return Status();
  Term own = term;
  own.part = Term::kOwn;
  own.sees_all = out->way.size() == 1 && term.sees_all;
  out->own.push_back(std::move(own));
  return Status();
}

// Those that are schemas: a choice each.
Status SchemaReader::AddDependencies(const Json& schema, const Path& path, Flat* out) {
  if (ReferenceOf(schema) != nullptr && references_.ref_stands_alone()) return Status();
  for (const char* key : {"dependentSchemas", "dependencies"}) {
    const Json* all = schema.Find(key);
    if (all == nullptr) continue;
    if (!all->is_object()) return InvalidArgument(PointerTo(path, key) + " must be an object");
    for (const auto& [name, value] : all->as_object()) {
      if (!value.is_object() && !value.is_bool()) continue;
      Term entry;
      entry.schema = all;
      entry.path = Path(path, key);
      entry.part = "dependencies";
      entry.name = name;
      out->choices.push_back(std::move(entry));
    }
  }
  return Status();
}

// The lists of terms of which one must hold.
Result<std::vector<SchemaReader::Terms>> SchemaReader::Alternatives(const Term& choice) const {
  if (choice.negated) return NegatedAlternatives(choice);
  std::vector<Terms> out;
  const Json& schema = *choice.schema;
  if (choice.part == "dependencies") {
    const Json& value = *schema.Find(choice.name);
    Term absent = NamedTerm(choice, Term::kAbsent, choice.name, choice.path);
    Term present = NamedTerm(choice, Term::kPresent, choice.name, choice.path);
    out = {{absent}, {present, SubTerm(choice, value, choice.name, false)}};
    return out;
  }
  if (choice.part == "if") {
    for (bool is_else : {false, true}) {
      const char* key = is_else ? "else" : "then";
      Terms terms = {SubTerm(choice, *schema.Find("if"), "if", is_else)};
      if (schema.Find(key) != nullptr)
        terms.push_back(SubTerm(choice, *schema.Find(key), key, false));
      out.push_back(std::move(terms));
    }
    return out;
  }
  const Json& list = *schema.Find(choice.part);
  for (size_t i = 0; i < list.as_array().size(); ++i) {
    Terms terms = {ItemTerm(choice, choice.part, i, false)};
    for (size_t j = 0; choice.part == "oneOf" && j < list.as_array().size(); ++j) {
      bool overlaps = overlaps_.count({&list, i, j}) != 0;
      if (overlaps) terms.push_back(ItemTerm(choice, choice.part, j, true));
    }
    out.push_back(std::move(terms));
  }
  return out;
}

}  // namespace mlc
