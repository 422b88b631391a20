#include "grammar/schema/term.h"

#include <algorithm>

namespace mlc {
namespace {

constexpr const char* kReferences[] = {"$ref", "$dynamicRef", "$recursiveRef"};

}  // namespace

bool IsReference(const std::string& key) {
  return std::find(std::begin(kReferences), std::end(kReferences), key) != std::end(kReferences);
}

const char* ReferenceOf(const Json& schema) {
  for (const char* key : kReferences) {
    if (schema.Find(key) != nullptr) return key;
  }
  return nullptr;
}

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

bool IsClosed(const Term& term) {
  const Json* others =
      term.part == Term::kOwn ? term.schema->Find("additionalProperties") : nullptr;
  bool is_closed = others != nullptr && others->is_bool() && !others->as_bool();
  return is_closed && !term.negated && term.schema->Find("patternProperties") == nullptr;
}

Term SubTerm(const Term& term, const Json& schema, const std::string& key, bool negated) {
  Term sub;
  sub.schema = &schema;
  sub.path = PointerTo(term.path, key);
  sub.negated = negated;
  sub.is_hidden = term.is_hidden || negated;
  return sub;
}

Term ItemTerm(const Term& term, const std::string& key, size_t index, bool negated) {
  const Json& list = *term.schema->Find(key);
  Term sub = SubTerm(term, list.as_array()[index], key, negated);
  sub.path = PointerTo(sub.path, std::to_string(index));
  return sub;
}

Term NamedTerm(const Term& term, const char* part, std::string name, const std::string& path) {
  Term named = term;
  named.part = part;
  named.name = std::move(name);
  named.path = path;
  named.sees_all = false;
  return named;
}

Status CheckSchemaList(const Json& list, const std::string& path) {
  if (list.is_array() && !list.as_array().empty()) return Status();
  return InvalidArgument(path + " must be a list of schemas");
}

}  // namespace mlc
