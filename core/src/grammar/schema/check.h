// Checks whether a value from an `enum` or a `const` fits other terms.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "grammar/schema/references.h"
#include "grammar/schema/term.h"

namespace mlc {

class ValueCheck {
 public:
  explicit ValueCheck(const References& references) : references_(references) {}

  // None if the result depends on a keyword that this class does not check.
  std::optional<bool> Fits(const Json& value, const Term& term);

 private:
  std::optional<bool> FitsSchema(const Json& value, const Json& schema);
  std::optional<bool> FitsKeyword(const Json& value, const std::string& key, const Json& schema);
  std::optional<bool> FitsList(const Json& value, const std::string& key, const Json& list);
  bool IsListed(const Json& value, const Json& list);
  std::optional<bool> FitsIf(const Json& value, const Json& schema);
  std::optional<bool> FitsText(const Json& value, const std::string& key, const Json& wanted);
  std::optional<bool> FitsItems(const Json& value, const std::string& key, const Json& schema);
  std::optional<bool> FitsMembers(const Json& value, const std::string& key, const Json& schema);

  const References& references_;
  int depth_ = 0;
  std::map<const Json*, std::set<std::string>> listed_;  // the texts of an enum's values
};

}  // namespace mlc
