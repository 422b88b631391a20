// The values of `format` as regular expressions. docs/json-schema.md lists them; a test compares
// the two.
#pragma once

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

// A pattern of texts that `pattern`, a format's, admits and that have `min` to `max` characters
// (-1: no limit); not of all of them. "" where there is none of this kind.
std::string FormatOfLength(const std::string& pattern, int64_t min, int64_t max);

}  // namespace mlc
