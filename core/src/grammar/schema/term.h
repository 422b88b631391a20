// One thing that a value must fit: a schema, a part of one, or the contrary of either.
#ifndef MLC_GRAMMAR_SCHEMA_TERM_H_
#define MLC_GRAMMAR_SCHEMA_TERM_H_

#include <string>

#include "base/json.h"

namespace mlc {

struct Term {
  // Besides the names of keywords:
  static constexpr const char* kWhole = "";
  static constexpr const char* kOwn = "own";          // the schema without its applicators
  static constexpr const char* kAbsent = "absent";    // no member has the name
  static constexpr const char* kPresent = "present";  // a member has the name
  static constexpr const char* kMember = "member";    // and its value fits the contrary of `schema`

  const Json* schema;
  std::string path;  // the schema's JSON pointer
  std::string part = kWhole;
  bool negated = false;
  std::string name;       // kAbsent, kPresent, kMember, and entries of dependencies
  bool is_option = false;  // another term serves in its place: it may be given up
  bool sees_all = false;  // everything that holds at this place stands in or below this schema

  bool is_whole() const { return part.empty(); }
};

Term WholeTerm(const Json& schema, const std::string& path);
// Whether other schemas of the same value stand in it.
bool HasInPlace(const Json& schema);

// "PATH/MEMBER", with '~' and '/' escaped as JSON pointers do.
std::string PointerTo(const std::string& path, std::string_view member);

}  // namespace mlc

#endif  // MLC_GRAMMAR_SCHEMA_TERM_H_
