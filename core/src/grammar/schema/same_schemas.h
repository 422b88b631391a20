// Schemas of one document that say the same at different places.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "grammar/schema/keywords.h"

namespace mlc {

// Appends a text and its length, so that no two lists of texts look alike.
void AddSized(std::string_view text, std::string* out);

// For documents in which a reference means the same at each place.
class SameSchemas {
 public:
  explicit SameSchemas(MisspeltKeywords* misspelt) : misspelt_(*misspelt) {}

  // The first schema asked for that has the same keywords in the same order, without annotations.
  const Json& FirstOf(const Json& schema) {
    return *firsts_[static_cast<size_t>(NumberOf(schema))];
  }

 private:
  int NumberOf(const Json& schema);
  void AddKeyword(const std::string& name, const Json& value, std::string* text);

  MisspeltKeywords& misspelt_;
  std::unordered_map<const Json*, int> numbers_;
  std::unordered_map<std::string, int> by_text_;
  std::vector<const Json*> firsts_;  // by number
};

}  // namespace mlc
