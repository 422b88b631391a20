// How each keyword of JSON Schema 2020-12 is treated. docs/json-schema.md shows this table; a test
// compares the two.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mlc {

enum class Verdict {
  kEnforced,    // when strict, refused in the cases that `note` names
  kAnnotation,  // does not change which values are valid
};

struct SchemaKeyword {
  std::string_view name;
  std::string_view vocabulary;
  Verdict verdict;
  std::string_view note;  // the limits of an enforced keyword
};

const std::vector<SchemaKeyword>& SchemaKeywords();
// nullptr for a word that is not a keyword.
const SchemaKeyword* FindSchemaKeyword(std::string_view name);

// The enforced keyword that differs from `word` in one or two letters. "" for any other word, which
// is an annotation.
std::string_view MisspeltKeyword(std::string_view word);

// The same, remembered: a word is compared with all keywords.
class MisspeltKeywords {
 public:
  std::string_view Of(const std::string& word) {
    auto [found, is_new] = meant_.try_emplace(word);
    if (is_new) found->second = MisspeltKeyword(word);
    return found->second;
  }

 private:
  std::unordered_map<std::string, std::string_view> meant_;
};

}  // namespace mlc
