// One condition that a value must meet: a schema, a part of a schema, or the contrary of either.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace mlc {

// A JSON pointer. Copies share its text, which is made when it is first asked for. For one thread.
class Path {
 public:
  Path() = default;
  Path(std::string text);  // NOLINT: implicit on purpose
  // Of a member of that place.
  Path(const Path& place, std::string_view member);

  bool empty() const { return step_ == nullptr; }
  const std::string& text() const;
  operator const std::string&() const { return text(); }  // NOLINT: implicit on purpose

 private:
  struct Step;
  std::shared_ptr<const Step> step_;  // null: the document
};

// Terms are copied often: all texts in them belong to the document, or are shared.
struct Term {
  // Besides the names of keywords:
  static constexpr const char* kWhole = "";
  static constexpr const char* kOwn = "own";            // the schema without its applicators
  static constexpr const char* kAbsent = "absent";      // no member has the name
  static constexpr const char* kPresent = "present";    // a member has the name
  static constexpr const char* kContrary = "contrary";  // of one of several keywords
  static constexpr const char* kMember = "member";      // a member has the name, and its value
                                                        // breaks `schema`

  const Json* schema;
  Path path;  // the schema's JSON pointer
  std::string_view part = kWhole;
  bool negated = false;
  std::string_view name;   // for kAbsent, kPresent, kMember, and entries of dependencies
  bool is_option = false;  // one of several ways: it may be given up
  bool is_hidden = false;  // below a `not`, or a denied `if`: nothing counts as evaluated there
  bool sees_all = false;   // all schemas for this value are this schema or inside it

  bool is_whole() const { return part.empty(); }
};

Term WholeTerm(const Json& schema, Path path);
// A schema inside the term's schema: the value of keyword `key`, or item `index` of that value.
Term SubTerm(const Term& term, const Json& schema, std::string_view key, bool negated);
Term ItemTerm(const Term& term, std::string_view key, size_t index, bool negated);
// A part of the term's schema.
Term NamedTerm(const Term& term, std::string_view part, std::string_view name, Path path);

// Appends what two terms share only if they mean the same. It begins with the bytes of `schema`.
void AddKey(const Term& term, std::string* key, const Json* schema = nullptr);
std::string KeyOf(const Term& term);
// The same of a list, in this order.
std::string KeyOf(const std::vector<Term>& terms);
// The same of a list, in any order. `schemas`: in place of those of the terms.
std::string SetKeyOf(const std::vector<Term>& terms,
                     const std::vector<const Json*>* schemas = nullptr);

// The keyword by which a schema refers to another one; null if there is none.
const char* ReferenceOf(const Json& schema);
bool IsReference(std::string_view key);
// kInvalidArgument unless `list` is a list with at least one schema.
Status CheckSchemaList(const Json& list, const std::string& path);
// Whether the schema contains other schemas for the same value.
bool HasInPlace(const Json& schema);
// Whether the term's own keywords name all members that a value may have.
bool IsClosed(const Term& term);

// "PATH/MEMBER", with '~' and '/' escaped as in JSON pointers.
std::string PointerTo(const std::string& path, std::string_view member);

}  // namespace mlc
