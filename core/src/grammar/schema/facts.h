// What a value must fit, keyword by keyword, from all schemas that hold at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "grammar/schema/term.h"
#include "grammar/schema/values.h"
#include "grammar/text/number_regex.h"

namespace mlc {

struct Facts {
  struct Pattern {
    std::string text, path;
    bool negated, is_format;
    bool is_below_not;  // such a format is never an annotation: the contrary of its contrary
  };
  struct Step {
    Decimal of;
    std::string path;
    bool negated;
  };
  struct Name {
    std::string name, path;
  };
  struct Implication {
    std::string first, second, path;
  };

  unsigned types = kAllTypes;
  bool has_types = false;          // a keyword gives the types
  unsigned meant = 0;              // the types to which keywords apply
  std::vector<const Json*> lists;  // the value must be in each of them
  std::vector<const Json*> excluded;
  std::string excluded_path, values_path;
  NumberRange range;
  std::string range_path;
  std::vector<Step> steps;
  std::vector<Pattern> patterns;
  int64_t min_length = 0, max_length = -1;
  std::string length_path;
  int64_t min_items = 0, max_items = -1;
  std::vector<Term> arrays, objects;  // schemas with keywords of arrays, of objects
  // Denied: a list must have an item that breaks `items`, or none that fits `contains`.
  std::vector<Term> denied_items, denied_contains;
  int64_t min_members = 0, max_members = -1;
  std::string min_members_path, max_members_path;
  std::vector<Name> required, absent;
  std::vector<Term> members;  // Term::kMember
  std::vector<Implication> implications;
  std::vector<Json> kept;  // lists with one value, for `const`
};

// Reports that a keyword is left out, or returns an error.
using LeaveOutFn = std::function<Status(const std::string& path, const std::string& why)>;

// `own`: terms of the part kOwn, and terms of single keywords.
Result<Facts> GatherFacts(const std::vector<Term>& own, const LeaveOutFn& leave_out);

// Reads a member that is a count; `fallback` if it is absent.
Result<int64_t> ReadCount(const Json& schema, const char* key, int64_t fallback,
                          const std::string& path);

Status CannotEnforce(const std::string& path, const std::string& why);

}  // namespace mlc
