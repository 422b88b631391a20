// The numerals of all multiples of a decimal number.
#ifndef MLC_GRAMMAR_TEXT_MULTIPLES_H_
#define MLC_GRAMMAR_TEXT_MULTIPLES_H_

#include "base/status.h"
#include "grammar/text/automaton.h"
#include "grammar/text/decimal.h"

namespace mlc {

// Numerals, without an exponent, of multiples of `step` (above zero). kUnsupported if they need too
// many rules.
Result<Automaton> MultiplesOf(const Decimal& step);

}  // namespace mlc

#endif  // MLC_GRAMMAR_TEXT_MULTIPLES_H_
