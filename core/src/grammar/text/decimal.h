// Decimal numbers in digits, exact at any length.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace mlc {

// A decimal number in digits: [-]whole[.fraction]
struct Decimal {
  bool negative = false;
  std::string whole = "0";  // no leading zeros, except "0"
  std::string fraction;     // no trailing zeros
  bool is_zero() const { return whole == "0" && fraction.empty(); }
};

// The shortest decimal that reads back as `value` (a number). An error for over 400 digits.
Result<Decimal> ToDecimal(const Json& value);
// -1, 0 or 1.
int Compare(const Decimal& a, const Decimal& b);
Decimal OfWhole(int64_t whole);

// The magnitude of `value` with only `places` digits after the point, plus `by` in the last digit.
// Not below 0.
Decimal Nudged(const Decimal& value, int places, int by);
// The exponent of a decimal above 0, written with one digit before the point.
int ExponentOf(const Decimal& value);
// The digits of a decimal above 0, with one digit before the point.
Decimal MantissaOf(const Decimal& value);

}  // namespace mlc
