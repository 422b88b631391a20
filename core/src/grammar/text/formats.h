// The values of `format` as regular expressions. docs/structured.md lists them; a test compares the
// two.
#ifndef MLC_GRAMMAR_TEXT_FORMATS_H_
#define MLC_GRAMMAR_TEXT_FORMATS_H_

#include <string>
#include <string_view>
#include <vector>

namespace mlc {

struct StringFormat {
  std::string_view name;
  std::string pattern;  // "": known, but not enforced
};

const std::vector<StringFormat>& StringFormats();
// nullptr for any other name, which is an annotation.
const StringFormat* FindStringFormat(std::string_view name);

}  // namespace mlc

#endif  // MLC_GRAMMAR_TEXT_FORMATS_H_
