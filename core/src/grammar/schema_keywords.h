// What becomes of each keyword of JSON Schema 2020-12. docs/structured.md shows this table; a test
// holds the two together.
#ifndef MLC_GRAMMAR_SCHEMA_KEYWORDS_H_
#define MLC_GRAMMAR_SCHEMA_KEYWORDS_H_

#include <string_view>
#include <vector>

namespace mlc {

enum class Verdict {
  kEnforced,    // or refused where `note` says so
  kAnnotation,  // says nothing about which values are valid
  kRefused,
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

struct StringFormat {
  std::string_view name;
  std::string_view pattern;  // of what is written; "": refused
};

// The values of `format`.
const std::vector<StringFormat>& StringFormats();

}  // namespace mlc

#endif  // MLC_GRAMMAR_SCHEMA_KEYWORDS_H_
