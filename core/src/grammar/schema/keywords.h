// What becomes of each keyword of JSON Schema 2020-12. docs/structured.md shows this table; a test
// holds the two together.
#ifndef MLC_GRAMMAR_SCHEMA_KEYWORDS_H_
#define MLC_GRAMMAR_SCHEMA_KEYWORDS_H_

#include <string_view>
#include <vector>

namespace mlc {

enum class Verdict {
  kEnforced,    // or refused, when strict, where `note` says so
  kAnnotation,  // says nothing about which values are valid
};

struct SchemaKeyword {
  std::string_view name;
  std::string_view vocabulary;
  Verdict verdict;
  std::string_view note;  // the limits of an enforced one, why another is refused
};

const std::vector<SchemaKeyword>& SchemaKeywords();
// nullptr for a word that is none.
const SchemaKeyword* FindSchemaKeyword(std::string_view name);

// The keyword that a word may be meant for: one that is enforced, with a letter or two wrong. ""
// for any other word, which is an annotation.
std::string_view MisspeltKeyword(std::string_view word);

}  // namespace mlc

#endif  // MLC_GRAMMAR_SCHEMA_KEYWORDS_H_
