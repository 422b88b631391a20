// The contrary of schemas: of each keyword that has one.
#include "grammar/schema/reader.h"

namespace mlc {
namespace {

// Whether a keyword is denied by denying any one of several parts.
bool IsListOfOptions(std::string_view key, const Json& value) {
  if (key == "properties") return value.is_object() && !value.as_object().empty();
  bool is_list = key == "required" || key == "allOf";
  return is_list && value.is_array() && !value.as_array().empty();
}

}  // namespace

Status SchemaReader::FlattenNegated(const Term& term, Flat* out) {
  const std::vector<std::string>& keys = Asserting(*term.schema);
  if (keys.empty()) out->is_never = true;
  if (keys.size() == 1) {
    Term part = term;
    part.part = keys[0];
    return FlattenNegatedPart(part, out);
  }
  if (keys.size() > 1) out->choices.push_back(NamedTerm(term, Term::kContrary, "", term.path));
  return Status();
}

// The contrary of one keyword.
Status SchemaReader::FlattenNegatedPart(const Term& term, Flat* out) {
  const Json& schema = *term.schema;
  std::string_view key = term.part;
  if (key == Term::kContrary) {
    out->choices.push_back(term);
    return Status();
  }
  const Json& value = *schema.Find(key);
  if (ReferenceOf(schema) != nullptr && key == ReferenceOf(schema)) {
    MLC_ASSIGN_OR_RETURN(std::optional<Term> target, Target(term));
    return target ? Flatten(*target, out) : Status();
  }
  if (key == "not") return Flatten(SubTerm(term, value, key, false), out);
  if (key == "allOf" || key == "anyOf" || key == "oneOf") {
    MLC_RETURN_IF_ERROR(CheckSchemaList(value, Path(term.path, key)));
    bool is_plain = key == "anyOf" || value.as_array().size() == 1;
    for (size_t i = 0; is_plain && i < value.as_array().size(); ++i) {
      MLC_RETURN_IF_ERROR(Flatten(ItemTerm(term, key, i, true), out));
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
  return GiveUp(term, Path(term.path, key), out);
}

// The contrary has no grammar. When strict, the other ways to meet it remain; the schema is refused
// only if there is no other way (`RemoveEmpty`).
Status SchemaReader::GiveUp(const Term& term, const Path& where, Flat* out) {
  constexpr const char* kWhy = "its contrary has no grammar";
  if (strictness_ == Strictness::kStrict && term.is_option) {
    out->is_never = true;
    out->given_up = SchemaWarning{where, kWhy};
    return Status();
  }
  for (const std::string& list : overlap_paths_) {
    bool is_below = where.text().compare(0, list.size() + 1, list + "/") == 0;
    if (is_below) return LeaveOut(list, "a value may fit several of its branches");
  }
  return LeaveOut(where, kWhy);
}

// A member that the schema of `choice` does not name, whose value the contrary of
// `additionalProperties` admits: one of those that `own` names.
std::vector<SchemaReader::Terms> SchemaReader::OtherMembers(const Term& choice, const Terms& own) {
  const Json &schema = *choice.schema, &value = *schema.Find(choice.part);
  const Json* known = schema.Find("properties");
  Path where(choice.path, choice.part);
  std::set<std::string_view> names;
  for (const Term& term : own) {
    bool is_named = term.part == Term::kPresent || term.part == Term::kMember;
    if (is_named) names.insert(term.name);
    const Json* named = term.part == Term::kOwn ? term.schema->Find("properties") : nullptr;
    for (size_t i = 0; named != nullptr && named->is_object() && i < named->as_object().size(); ++i)
      names.insert(named->as_object()[i].first);
  }
  std::vector<Terms> out;
  for (std::string_view name : names) {
    if (known != nullptr && known->Find(name) != nullptr) continue;
    Term member = NamedTerm(choice, Term::kMember, name, where);
    member.schema = &value;
    out.push_back({std::move(member)});
  }
  return out;
}

Result<std::vector<SchemaReader::Terms>> SchemaReader::NegatedAlternatives(
    const Term& choice) const {
  std::vector<Terms> out;
  const Json& schema = *choice.schema;
  if (choice.part == Term::kContrary) {
    for (const std::string& key : Asserting(schema)) {
      Term part = choice;
      part.part = key;
      part.is_option = true;
      bool is_choice = IsListOfOptions(key, *schema.Find(key));
      if (!is_choice) out.push_back({std::move(part)});
      if (!is_choice) continue;
      MLC_ASSIGN_OR_RETURN(std::vector<Terms> options, NegatedAlternatives(part));
      out.insert(out.end(), options.begin(), options.end());
    }
    return out;
  }
  const Json& value = *schema.Find(choice.part);
  Path where(choice.path, choice.part);
  if (choice.part == "if") {
    for (bool is_else : {false, true}) {
      const char* key = is_else ? "else" : "then";
      if (schema.Find(key) == nullptr) continue;
      out.push_back(
          {SubTerm(choice, value, "if", is_else), SubTerm(choice, *schema.Find(key), key, true)});
    }
  } else if (choice.part == "properties") {
    for (const auto& [name, member] : value.as_object()) {
      Term term = NamedTerm(choice, Term::kMember, name, Path(where, name));
      term.schema = &member;
      out.push_back({std::move(term)});
    }
  } else if (choice.part == "required") {
    for (const Json& name : value.as_array()) {
      if (!name.is_string()) return InvalidArgument(where.text() + " must be a list of names");
      out.push_back({NamedTerm(choice, Term::kAbsent, name.as_string(), where)});
    }
  } else if (choice.part == "allOf") {
    for (size_t i = 0; i < value.as_array().size(); ++i) {
      out.push_back({ItemTerm(choice, "allOf", i, true)});
      out.back()[0].is_option = value.as_array().size() > 1 || choice.is_option;
    }
  } else {  // oneOf: none of them, or two
    Terms none;
    size_t count = value.as_array().size();
    for (size_t i = 0; i < count; ++i) none.push_back(ItemTerm(choice, "oneOf", i, true));
    out.push_back(std::move(none));
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = i + 1; j < count; ++j) {
        out.push_back({ItemTerm(choice, "oneOf", i, false), ItemTerm(choice, "oneOf", j, false)});
      }
    }
  }
  return out;
}

}  // namespace mlc
