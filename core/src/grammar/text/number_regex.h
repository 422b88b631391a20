// Decimal numbers within bounds, as regular expressions (which match the whole numeral).
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "grammar/text/decimal.h"

namespace mlc {

struct NumberBound {
  Decimal value;
  bool exclusive = false;
};

struct NumberRange {
  std::optional<NumberBound> min, max;
};

// For the integers within `range`, at most 19 digits long; "" when there are none. kUnsupported
// when a bound is outside the numbers that we write.
Result<std::string> IntegerRegex(const NumberRange& range);
// The same for numbers, with and without an exponent. A number is within its bounds even after a
// reader rounds it.
Result<std::string> NumberRegex(const NumberRange& range);

}  // namespace mlc
