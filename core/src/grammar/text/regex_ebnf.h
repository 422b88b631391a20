// Regular expressions of ECMAScript's syntax as EBNF.
#pragma once

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
  // The matched text is inside a JSON string: escaped where necessary.
  bool in_json_string = false;
  // How many characters may match. An expression that matches other lengths too is narrowed if it
  // is one repeated class; else it is refused.
  LengthRange length;
  // The cost of compiling is added to it; a sum over kMaxRegexCost is refused. Shared by several
  // expressions of one grammar.
  int64_t* cost = nullptr;
};

// For adjacent parts that may be empty, the compiler's time grows with the cube of their number:
// about 2 s for 40 of them (optional classes, 49,000 tokens).
constexpr int64_t kMaxRegexCost = 64000;
constexpr int64_t CostOfEmptyRun(int64_t length) { return length * length * length; }

// An expression (no rules) for the texts that the pattern matches from end to end; '^' at the
// beginning and '$' at the end change nothing. Errors: kInvalidArgument for a malformed pattern,
// kUnsupported for a pattern that is too large or that no grammar can have (look-around, \b,
// anchors inside, back-references).
Result<std::string> RegexToEbnf(std::string_view pattern, const RegexEbnfOptions& options = {});

// Whether the pattern can only match texts from end to end: each of its alternatives begins with
// '^' and ends with '$'.
bool IsAnchored(std::string_view pattern);

}  // namespace mlc
