// Pieces of EBNF text in xgrammar's notation.
#pragma once

#include <string>
#include <string_view>

#include "text/unicode/unicode.h"

namespace mlc {

// "..." in which all characters except plain ASCII are escaped. `text` is UTF-8.
std::string EbnfLiteral(std::string_view text);
// [...]; not for an empty set.
std::string EbnfClass(const CodePointRanges& set);
// Characters that need no escape in a JSON string: no quote, no backslash, no control characters.
// No surrogates, because UTF-8 cannot have them.
const CodePointRanges& JsonStringRanges();
// The escapes of one letter for characters in the set, as "\\" [...]; "" if there are none.
std::string EbnfEscapes(const CodePointRanges& set);
// {min,max}; `max` below 0: no limit.
std::string EbnfRepeat(int64_t min, int64_t max);

}  // namespace mlc
