// One thing that a value must fit: a schema, a part of one, or the contrary of either.
#ifndef MLC_GRAMMAR_SCHEMA_TERM_H_
#define MLC_GRAMMAR_SCHEMA_TERM_H_

#include <string>

#include "base/json.h"
#include "base/status.h"

namespace mlc {

struct Term {
  // Besides the names of keywords:
  static constexpr const char* kWhole = "";
  static constexpr const char* kOwn = "own";            // the schema without its applicators
  static constexpr const char* kAbsent = "absent";      // no member has the name
  static constexpr const char* kPresent = "present";    // a member has the name
  static constexpr const char* kContrary = "contrary";  // of one of several keywords
  static constexpr const char* kMember = "member";  // and its value fits the contrary of `schema`

  const Json* schema;
  std::string path;  // the schema's JSON pointer
  std::string part = kWhole;
  bool negated = false;
  std::string name;        // kAbsent, kPresent, kMember, and entries of dependencies
  bool is_option = false;  // another term serves in its place: it may be given up
  bool sees_all = false;   // everything that holds at this place stands in or below this schema

  bool is_whole() const { return part.empty(); }
};

Term WholeTerm(const Json& schema, const std::string& path);
// A schema that stands in that of the term: as the value of a keyword, or in the list that is one.
Term SubTerm(const Term& term, const Json& schema, const std::string& key, bool negated);
Term ItemTerm(const Term& term, const std::string& key, size_t index, bool negated);
// A part of the term's schema.
Term NamedTerm(const Term& term, const char* part, std::string name, const std::string& path);

// The keyword by which a schema refers to another one; null without.
const char* ReferenceOf(const Json& schema);
bool IsReference(const std::string& key);
// kInvalidArgument but for a list with at least one schema.
Status CheckSchemaList(const Json& list, const std::string& path);
// Whether other schemas of the same value stand in it.
bool HasInPlace(const Json& schema);

// "PATH/MEMBER", with '~' and '/' escaped as JSON pointers do.
std::string PointerTo(const std::string& path, std::string_view member);

}  // namespace mlc

#endif  // MLC_GRAMMAR_SCHEMA_TERM_H_
