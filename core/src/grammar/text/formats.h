// The values of `format` as regular expressions. docs/structured.md lists them; a test holds the
// two together.
#ifndef MLC_GRAMMAR_TEXT_FORMATS_H_
#define MLC_GRAMMAR_TEXT_FORMATS_H_

#include <string>
#include <string_view>
#include <vector>

namespace mlc {

struct StringFormat {
  std::string_view name;
  std::string pattern;  // "": known, and not enforced
};

const std::vector<StringFormat>& StringFormats();
// nullptr for any other, which is an annotation.
const StringFormat* FindStringFormat(std::string_view name);

}  // namespace mlc

#endif  // MLC_GRAMMAR_TEXT_FORMATS_H_
