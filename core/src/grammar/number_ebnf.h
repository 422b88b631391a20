// Decimal numbers within bounds, as EBNF.
#ifndef MLC_GRAMMAR_NUMBER_EBNF_H_
#define MLC_GRAMMAR_NUMBER_EBNF_H_

#include <optional>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace mlc {

// A decimal number in digits: [-]whole[.fraction]
struct Decimal {
  bool negative = false;
  std::string whole = "0";  // no leading zeros, but for "0"
  std::string fraction;     // no trailing zeros
  bool is_zero() const { return whole == "0" && fraction.empty(); }
};

// The shortest decimal that reads back as `value` (a number). Errors for one with over 300 digits.
Result<Decimal> ToDecimal(const Json& value);
// -1, 0 or 1.
int Compare(const Decimal& a, const Decimal& b);

struct NumberBound {
  Decimal value;
  bool exclusive = false;
};

struct NumberRange {
  std::optional<NumberBound> min, max;
  int64_t multiple_of = 1;  // of integers
};

// Longer numbers than these are not written: every reader has them exactly.
constexpr int kMaxWholeDigits = 15, kMaxFractionDigits = 15;

// An expression for the integers within `range`, "" when there are none. kUnsupported when bounds
// and multiples cannot be had together.
Result<std::string> IntegerEbnf(const NumberRange& range);
// The same for numbers, written without an exponent. `multiple_of` must be 1.
Result<std::string> NumberEbnf(const NumberRange& range);

}  // namespace mlc

#endif  // MLC_GRAMMAR_NUMBER_EBNF_H_
