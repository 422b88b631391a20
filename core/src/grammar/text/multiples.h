// The numerals of all multiples of a decimal number.
#pragma once

#include "base/status.h"
#include "grammar/text/automaton.h"
#include "grammar/text/decimal.h"

namespace mlc {

// Numerals, without an exponent, of multiples of `step` (above zero). kUnsupported if they need too
// many rules.
Result<Automaton> MultiplesOf(const Decimal& step);

}  // namespace mlc
