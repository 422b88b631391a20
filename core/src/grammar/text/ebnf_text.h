// Pieces of EBNF text in xgrammar's notation.
#ifndef MLC_GRAMMAR_TEXT_EBNF_TEXT_H_
#define MLC_GRAMMAR_TEXT_EBNF_TEXT_H_

#include <string>
#include <string_view>

#include "text/unicode/unicode.h"

namespace mlc {

// "..." with everything escaped that is not plain ASCII. `text` is UTF-8.
std::string EbnfLiteral(std::string_view text);
// [...]; not for an empty set.
std::string EbnfClass(const CodePointRanges& set);
// What may stand in a JSON string as it is: no quote, no backslash, no control characters. Without
// surrogates, which have no UTF-8.
const CodePointRanges& JsonStringRanges();
// The escapes of those characters in the set that have one of a letter, as "\\" [...]; "" for none.
std::string EbnfEscapes(const CodePointRanges& set);
// {min,max}; `max` below 0: no end.
std::string EbnfRepeat(int64_t min, int64_t max);

}  // namespace mlc

#endif  // MLC_GRAMMAR_TEXT_EBNF_TEXT_H_
