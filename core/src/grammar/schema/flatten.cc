// Terms taken apart: references followed, `allOf` and `not` carried inwards, until what is left
// either speaks of the value itself or leaves a choice.
#include <algorithm>

#include "grammar/schema/keywords.h"
#include "grammar/schema/reader.h"
#include "grammar/text/formats.h"

namespace mlc {
namespace {

constexpr size_t kMaxWay = 96;  // references and lists that lead from one to the next

constexpr const char* kReferences[] = {"$ref", "$dynamicRef", "$recursiveRef"};
constexpr const char* kContrary = "contrary";  // of a schema with several keywords

const char* ReferenceOf(const Json& schema) {
  for (const char* key : kReferences) {
    if (schema.Find(key) != nullptr) return key;
  }
  return nullptr;
}

bool IsTrue(const Json* flag) { return flag != nullptr && flag->is_bool() && flag->as_bool(); }

Term Sub(const Term& term, const Json& schema, const std::string& key, bool negated) {
  Term sub;
  sub.schema = &schema;
  sub.path = PointerTo(term.path, key);
  sub.negated = negated;
  return sub;
}

Term Item(const Term& term, const std::string& key, size_t index, bool negated) {
  const Json& list = *term.schema->Find(key);
  Term sub = Sub(term, list.as_array()[index], key, negated);
  sub.path = PointerTo(sub.path, std::to_string(index));
  return sub;
}

Term Named(const Term& term, const char* part, std::string name, const std::string& path) {
  Term named = term;
  named.part = part;
  named.name = std::move(name);
  named.path = path;
  named.sees_all = false;
  return named;
}

Status CheckList(const Json& list, const std::string& path) {
  if (list.is_array() && !list.as_array().empty()) return Status();
  return InvalidArgument(path + " must be a list of schemas");
}

// The keywords that are enforced, but for those that only change another's meaning.
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

Term WholeTerm(const Json& schema, const std::string& path) {
  Term term;
  term.schema = &schema;
  term.path = path;
  return term;
}

bool HasInPlace(const Json& schema) {
  for (const char* key : {"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas",
                          "dependencies", "$dynamicRef", "$recursiveRef"}) {
    if (schema.Find(key) != nullptr) return true;
  }
  return false;
}

std::vector<std::string> SchemaReader::Asserting(const Json& schema) const {
  const char* reference = ReferenceOf(schema);
  if (reference != nullptr && references_.ref_stands_alone()) return {reference};
  std::vector<std::string> keys;
  for (const auto& [key, value] : schema.as_object()) {
    bool is_last = schema.Find(key) == &value;  // of those of one name
    if (is_last && IsAsserting(schema, key)) keys.push_back(key);
  }
  return keys;
}

Status SchemaReader::Check(const Json& schema, const std::string& path) {
  if (!checked_.insert(&schema).second) return Status();
  for (const auto& [key, value] : schema.as_object()) {
    std::string_view meant = FindSchemaKeyword(key) == nullptr ? MisspeltKeyword(key) : "";
    if (meant.empty()) continue;
    MLC_RETURN_IF_ERROR(LeaveOut(PointerTo(path, key.substr(0, 80)),
                                 "it is no keyword; '" + std::string(meant) + "' may be meant"));
  }
  return Status();
}

// The schema that a term names by a reference alone, or by `allOf` of one, however often.
Result<Term> SchemaReader::Direct(Term term) {
  for (size_t steps = 0; term.is_whole() && !term.negated && term.schema->is_object(); ++steps) {
    if (steps > kMaxWay)
      return InvalidArgument((term.path.empty() ? "the schema" : term.path) +
                             " refers to itself without end");
    std::vector<std::string> keys = Asserting(*term.schema);
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
    term = Item(term, keys[0], 0, false);
  }
  return term;
}

// None where the reference is left out.
Result<std::optional<Term>> SchemaReader::Target(const Term& term) {
  std::string key = ReferenceOf(*term.schema);
  Result<References::Place> place = references_.Follow(*term.schema, key);
  std::string where = PointerTo(term.path, key);
  if (!place.ok() && place.status().code() == StatusCode::kUnsupported) {
    MLC_RETURN_IF_ERROR(LeaveOut(where, place.status().message()));
    return std::optional<Term>();
  }
  if (!place.ok()) return InvalidArgument(where + " " + place.status().message());
  Term target;
  target.schema = place->schema;
  target.path = place->path;
  target.negated = term.negated;
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
  std::string place = term.path.empty() ? "the schema" : term.path;
  if (!schema.is_object()) return InvalidArgument(place + " must be an object or a boolean");
  std::pair<const Json*, bool> here{&schema, term.negated};
  if (std::find(out->way.begin(), out->way.end(), here) != out->way.end()) {
    return InvalidArgument(place + " refers to itself without end");
  }
  if (out->way.size() >= kMaxWay) return InvalidArgument(place + " is nested too deeply");
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
    std::string where = PointerTo(term.path, key);
    has_own = has_own || IsOwn(key);
    if (std::find(std::begin(kReferences), std::end(kReferences), key) != std::end(kReferences)) {
      MLC_ASSIGN_OR_RETURN(std::optional<Term> target, Target(term));
      if (target) MLC_RETURN_IF_ERROR(Flatten(*target, out));
    } else if (key == "allOf" || key == "anyOf" || key == "oneOf") {
      MLC_RETURN_IF_ERROR(CheckList(value, where));
      bool is_all = key == "allOf" || value.as_array().size() == 1;
      for (size_t i = 0; is_all && i < value.as_array().size(); ++i) {
        MLC_RETURN_IF_ERROR(Flatten(Item(term, key, i, false), out));
      }
      if (!is_all) out->choices.push_back(Named(term, key.c_str(), "", term.path));
    } else if (key == "not") {
      MLC_RETURN_IF_ERROR(Flatten(Sub(term, value, key, true), out));
    } else if (key == "if") {
      out->choices.push_back(Named(term, "if", "", term.path));
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
Status SchemaReader::AddDependencies(const Json& schema, const std::string& path, Flat* out) {
  if (ReferenceOf(schema) != nullptr && references_.ref_stands_alone()) return Status();
  for (const char* key : {"dependentSchemas", "dependencies"}) {
    const Json* all = schema.Find(key);
    if (all == nullptr) continue;
    if (!all->is_object()) return InvalidArgument(PointerTo(path, key) + " must be an object");
    for (const auto& [name, value] : all->as_object()) {
      if (!value.is_object() && !value.is_bool()) continue;
      Term entry;
      entry.schema = all;
      entry.path = PointerTo(path, key);
      entry.part = "dependencies";
      entry.name = name;
      out->choices.push_back(std::move(entry));
    }
  }
  return Status();
}

Status SchemaReader::FlattenNegated(const Term& term, Flat* out) {
  std::vector<std::string> keys = Asserting(*term.schema);
  if (keys.empty()) out->is_never = true;
  if (keys.size() == 1) {
    Term part = term;
    part.part = keys[0];
    return FlattenNegatedPart(part, out);
  }
  if (keys.size() > 1) out->choices.push_back(Named(term, kContrary, "", term.path));
  return Status();
}

// The contrary of one keyword.
Status SchemaReader::FlattenNegatedPart(const Term& term, Flat* out) {
  const Json& schema = *term.schema;
  const std::string& key = term.part;
  if (key == kContrary) {
    out->choices.push_back(term);
    return Status();
  }
  const Json& value = *schema.Find(key);
  std::string where = PointerTo(term.path, key);
  if (ReferenceOf(schema) != nullptr && key == ReferenceOf(schema)) {
    MLC_ASSIGN_OR_RETURN(std::optional<Term> target, Target(term));
    return target ? Flatten(*target, out) : Status();
  }
  if (key == "not") return Flatten(Sub(term, value, key, false), out);
  if (key == "allOf" || key == "anyOf" || key == "oneOf") {
    MLC_RETURN_IF_ERROR(CheckList(value, where));
    bool is_plain = key == "anyOf" || value.as_array().size() == 1;
    for (size_t i = 0; is_plain && i < value.as_array().size(); ++i) {
      MLC_RETURN_IF_ERROR(Flatten(Item(term, key, i, true), out));
    }
    if (!is_plain) out->choices.push_back(term);
    return Status();
  }
  if (key == "if") {
    out->choices.push_back(term);
    return Status();
  }
  bool is_map = key == "properties" && value.is_object();
  bool is_list = key == "required" && value.is_array();
  if (is_map || is_list) {
    size_t count = is_map ? value.as_object().size() : value.as_array().size();
    if (count > 1) {
      out->choices.push_back(term);
      return Status();
    }
    MLC_ASSIGN_OR_RETURN(std::vector<Terms> alternatives, NegatedAlternatives(term));
    out->own.insert(out->own.end(), alternatives[0].begin(), alternatives[0].end());
    return Status();
  }
  bool is_list_alone = key == "items" && !value.is_array() && !schema.Find("prefixItems");
  bool is_wanted_once =
      key == "contains" && !schema.Find("minContains") && !schema.Find("maxContains");
  if (is_list_alone || is_wanted_once) {
    out->own.push_back(term);
    return Status();
  }
  if (key == "additionalProperties" && !schema.Find("patternProperties")) {
    out->choices.push_back(term);
    return Status();
  }
  for (const char* plain : {"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum",
                            "exclusiveMaximum", "multipleOf", "pattern", "minLength", "maxLength",
                            "minItems", "maxItems", "minProperties", "maxProperties"}) {
    if (key != plain) continue;
    out->own.push_back(term);
    return Status();
  }
  return GiveUp(term, where, out);
}

// What is denied has no grammar. When strict, the other ways to hold to a contrary are left, and
// the schema is refused only if none of them can be had (`RemoveEmpty`).
Status SchemaReader::GiveUp(const Term& term, const std::string& where, Flat* out) {
  constexpr const char* kWhy = "its contrary has no grammar";
  if (strictness_ == Strictness::kStrict && term.is_option) {
    out->is_never = true;
    out->given_up = SchemaWarning{where, kWhy};
    return Status();
  }
  for (const std::string& list : overlap_paths_) {
    bool is_below = where.compare(0, list.size() + 1, list + "/") == 0;
    if (is_below) return LeaveOut(list, "a value may fit several of its branches");
  }
  return LeaveOut(where, kWhy);
}

// A member that the schema of `choice` does not name, whose value the contrary of
// `additionalProperties` admits: one of those that `own` names.
std::vector<SchemaReader::Terms> SchemaReader::OtherMembers(const Term& choice, const Terms& own) {
  const Json &schema = *choice.schema, &value = *schema.Find(choice.part);
  const Json* known = schema.Find("properties");
  std::string where = PointerTo(choice.path, choice.part);
  std::set<std::string> names;
  for (const Term& term : own) {
    bool is_named = term.part == Term::kPresent || term.part == Term::kMember;
    if (is_named) names.insert(term.name);
    const Json* named = term.part == Term::kOwn ? term.schema->Find("properties") : nullptr;
    for (size_t i = 0; named != nullptr && named->is_object() && i < named->as_object().size(); ++i)
      names.insert(named->as_object()[i].first);
  }
  std::vector<Terms> out;
  for (const std::string& name : names) {
    if (known != nullptr && known->Find(name) != nullptr) continue;
    Term member = Named(choice, Term::kMember, name, where);
    member.schema = &value;
    out.push_back({std::move(member)});
  }
  return out;
}

// The lists of terms of which one must hold.
Result<std::vector<SchemaReader::Terms>> SchemaReader::Alternatives(const Term& choice) const {
  if (choice.negated) return NegatedAlternatives(choice);
  std::vector<Terms> out;
  const Json& schema = *choice.schema;
  if (choice.part == "dependencies") {
    const Json& value = *schema.Find(choice.name);
    Term absent = Named(choice, Term::kAbsent, choice.name, choice.path);
    Term present = Named(choice, Term::kPresent, choice.name, choice.path);
    out = {{absent}, {present, Sub(choice, value, choice.name, false)}};
    return out;
  }
  if (choice.part == "if") {
    for (bool is_else : {false, true}) {
      const char* key = is_else ? "else" : "then";
      Terms terms = {Sub(choice, *schema.Find("if"), "if", is_else)};
      if (schema.Find(key) != nullptr) terms.push_back(Sub(choice, *schema.Find(key), key, false));
      out.push_back(std::move(terms));
    }
    return out;
  }
  const Json& list = *schema.Find(choice.part);
  for (size_t i = 0; i < list.as_array().size(); ++i) {
    Terms terms = {Item(choice, choice.part, i, false)};
    for (size_t j = 0; choice.part == "oneOf" && j < list.as_array().size(); ++j) {
      bool overlaps = overlaps_.count({&list, i, j}) != 0;
      if (overlaps) terms.push_back(Item(choice, choice.part, j, true));
    }
    out.push_back(std::move(terms));
  }
  return out;
}

Result<std::vector<SchemaReader::Terms>> SchemaReader::NegatedAlternatives(
    const Term& choice) const {
  std::vector<Terms> out;
  const Json& schema = *choice.schema;
  if (choice.part == kContrary) {
    for (const std::string& key : Asserting(schema)) {
      Term part = choice;
      part.part = key;
      part.is_option = true;
      out.push_back({std::move(part)});
    }
    return out;
  }
  const Json& value = *schema.Find(choice.part);
  std::string where = PointerTo(choice.path, choice.part);
  if (choice.part == "if") {
    for (bool is_else : {false, true}) {
      const char* key = is_else ? "else" : "then";
      if (schema.Find(key) == nullptr) continue;
      out.push_back({Sub(choice, value, "if", is_else), Sub(choice, *schema.Find(key), key, true)});
    }
  } else if (choice.part == "properties") {
    for (const auto& [name, member] : value.as_object()) {
      Term term = Named(choice, Term::kMember, name, PointerTo(where, name));
      term.schema = &member;
      out.push_back({std::move(term)});
    }
  } else if (choice.part == "required") {
    for (const Json& name : value.as_array()) {
      if (!name.is_string()) return InvalidArgument(where + " must be a list of names");
      out.push_back({Named(choice, Term::kAbsent, name.as_string(), where)});
    }
  } else if (choice.part == "allOf") {
    for (size_t i = 0; i < value.as_array().size(); ++i) {
      out.push_back({Item(choice, "allOf", i, true)});
    }
  } else {  // oneOf: none of them, or two
    Terms none;
    size_t count = value.as_array().size();
    for (size_t i = 0; i < count; ++i) none.push_back(Item(choice, "oneOf", i, true));
    out.push_back(std::move(none));
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = i + 1; j < count; ++j) {
        out.push_back({Item(choice, "oneOf", i, false), Item(choice, "oneOf", j, false)});
      }
    }
  }
  return out;
}

}  // namespace mlc
