// Regular expressions of ECMAScript's syntax as EBNF.
#ifndef MLC_GRAMMAR_TEXT_REGEX_EBNF_H_
#define MLC_GRAMMAR_TEXT_REGEX_EBNF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc {

struct LengthRange {
  int64_t min = 0;
  int64_t max = -1;  // -1: no end
};

struct RegexEbnfOptions {
  // What matches is written into a JSON string: escaped where it must be.
  bool in_json_string = false;
  // How many characters may match. An expression whose own lengths are not all within it is
  // narrowed where it is one repeated class, else refused.
  LengthRange length;
  // What compiling will cost is added to it, and refused when the sum is over kMaxRegexCost: of
  // several expressions that become one grammar.
  int64_t* cost = nullptr;
};

// Parts in a row that may be empty take the compiler time by the cube of their number: some 2 s for
// 40 of them (optional classes, 49,000 tokens).
constexpr int64_t kMaxRegexCost = 64000;
constexpr int64_t CostOfEmptyRun(int64_t length) { return length * length * length; }

// An expression (no rules) for the texts that the pattern matches from end to end; '^' at the
// beginning and '$' at the end say nothing new. Errors: kInvalidArgument for what is malformed,
// kUnsupported for what a grammar cannot say (look-around, \b, anchors inside, back-references)
// or is too large.
Result<std::string> RegexToEbnf(std::string_view pattern, const RegexEbnfOptions& options = {});

// Whether every text that the pattern matches somewhere is matched from end to end: it begins with
// '^' and ends with '$', in each of its alternatives.
bool IsAnchored(std::string_view pattern);

}  // namespace mlc

#endif  // MLC_GRAMMAR_TEXT_REGEX_EBNF_H_
