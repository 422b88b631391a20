// Decimal numbers within bounds, as regular expressions (which match the whole numeral).
#ifndef MLC_GRAMMAR_TEXT_NUMBER_REGEX_H_
#define MLC_GRAMMAR_TEXT_NUMBER_REGEX_H_

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "grammar/text/automaton.h"

namespace mlc {

// A decimal number in digits: [-]whole[.fraction]
struct Decimal {
  bool negative = false;
  std::string whole = "0";  // no leading zeros, but for "0"
  std::string fraction;     // no trailing zeros
  bool is_zero() const { return whole == "0" && fraction.empty(); }
};

// The shortest decimal that reads back as `value` (a number). Errors for one with over 400 digits.
Result<Decimal> ToDecimal(const Json& value);
// -1, 0 or 1.
int Compare(const Decimal& a, const Decimal& b);

struct NumberBound {
  Decimal value;
  bool exclusive = false;
};

struct NumberRange {
  std::optional<NumberBound> min, max;
};

// For the integers within `range`, at most 19 digits long; "" when there are none. kUnsupported
// when a bound lies beyond what is written.
Result<std::string> IntegerRegex(const NumberRange& range);
// The same for numbers, with and without an exponent. No reader's rounding carries one over a
// bound.
Result<std::string> NumberRegex(const NumberRange& range);

// Numerals, without an exponent, of multiples of `step` (above zero).
Result<Automaton> MultiplesOf(const Decimal& step);

}  // namespace mlc

#endif  // MLC_GRAMMAR_TEXT_NUMBER_REGEX_H_
