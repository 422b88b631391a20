#include "grammar/schema/term.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace mlc {
namespace {

constexpr size_t kUsualKey = 40;  // of a term
constexpr const char* kReferences[] = {"$ref", "$dynamicRef", "$recursiveRef"};

}  // namespace

struct Path::Step {
  Path place;
  std::string member;
  mutable std::string text;
};

Path::Path(std::string text) {
  if (!text.empty()) step_ = std::make_shared<Step>(Step{Path(), "", std::move(text)});
}

Path::Path(const Path& place, std::string_view member)
    : step_(std::make_shared<Step>(Step{place, std::string(member), ""})) {}

const std::string& Path::text() const {
  static const std::string* const document = new std::string;
  if (step_ == nullptr) return *document;
  if (step_->text.empty()) step_->text = PointerTo(step_->place, step_->member);
  return step_->text;
}

bool IsReference(std::string_view key) {
  return std::find(std::begin(kReferences), std::end(kReferences), key) != std::end(kReferences);
}

const char* ReferenceOf(const Json& schema) {
  for (const char* key : kReferences) {
    if (schema.Find(key) != nullptr) return key;
  }
  return nullptr;
}

Term WholeTerm(const Json& schema, Path path) {
  Term term;
  term.schema = &schema;
  term.path = std::move(path);
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

Term SubTerm(const Term& term, const Json& schema, std::string_view key, bool negated) {
  Term sub;
  sub.schema = &schema;
  sub.path = Path(term.path, key);
  sub.negated = negated;
  sub.is_hidden = term.is_hidden || negated;
  return sub;
}

Term ItemTerm(const Term& term, std::string_view key, size_t index, bool negated) {
  const Json& list = *term.schema->Find(key);
  Term sub = SubTerm(term, list.as_array()[index], key, negated);
  sub.path = Path(sub.path, std::to_string(index));
  return sub;
}

Term NamedTerm(const Term& term, std::string_view part, std::string_view name, Path path) {
  Term named = term;
  named.part = part;
  named.name = name;
  named.path = std::move(path);
  named.sees_all = false;
  return named;
}

void AddKey(const Term& term, std::string* key, const Json* schema) {
  struct Head {
    const Json* schema;
    uint32_t flags, part_size;
    uint64_t name_size;  // no byte of the struct is padding
  };
  uint32_t flags = (term.negated ? 1 : 0) + (term.is_option ? 2 : 0) + (term.is_hidden ? 4 : 0) +
                   (term.sees_all ? 8 : 0);
  Head head{schema != nullptr ? schema : term.schema, flags,
            static_cast<uint32_t>(term.part.size()), term.name.size()};
  key->append(reinterpret_cast<const char*>(&head), sizeof(head));
  *key += term.part;
  if (!term.name.empty()) *key += term.name;
}

std::string KeyOf(const Term& term) {
  std::string key;
  key.reserve(2 * kUsualKey);  // callers put more behind it
  AddKey(term, &key);
  return key;
}

std::string KeyOf(const std::vector<Term>& terms) {
  std::string key;
  key.reserve(terms.size() * kUsualKey);
  for (const Term& term : terms) AddKey(term, &key);
  return key;
}

std::string SetKeyOf(const std::vector<Term>& terms, const std::vector<const Json*>* schemas) {
  using Entry = std::pair<const Json*, const Term*>;
  auto rest = [](const Term& term) {
    return std::make_tuple(term.part, term.negated, term.name, term.is_option, term.sees_all,
                           term.is_hidden);
  };
  auto is_before = [&](const Entry& a, const Entry& b) {
    return a.first != b.first ? a.first < b.first : rest(*a.second) < rest(*b.second);
  };
  std::vector<Entry> sorted;
  sorted.reserve(terms.size());
  for (size_t i = 0; i < terms.size(); ++i) {
    sorted.emplace_back(schemas != nullptr ? (*schemas)[i] : terms[i].schema, &terms[i]);
  }
  std::sort(sorted.begin(), sorted.end(), is_before);
  std::string key;
  key.reserve(sorted.size() * kUsualKey);
  for (size_t i = 0; i < sorted.size(); ++i) {
    bool is_new = i == 0 || is_before(sorted[i - 1], sorted[i]);
    if (is_new) AddKey(*sorted[i].second, &key, sorted[i].first);
  }
  return key;
}

Status CheckSchemaList(const Json& list, const std::string& path) {
  if (list.is_array() && !list.as_array().empty()) return Status();
  return InvalidArgument(path + " must be a list of schemas");
}

}  // namespace mlc
