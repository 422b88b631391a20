// Writes automata as EBNF: one rule for each state.
#pragma once

#include <string>

#include "grammar/text/automaton.h"

namespace mlc {

enum class TextPlace {
  kPlain,        // the texts without a change
  kInJsonString  // after an opening quote: with the necessary escapes, and the closing quote
};

// Appends rules whose names begin with `prefix`, and returns the name of the first; "" if the set
// is empty. In a string, when any further text fits, the rule `text` follows. A rule contains the
// next part of a text and the whole rest after it. The reason: the matcher cannot precompute
// whether a token fits if the token is longer than its rule, and a mask then takes milliseconds.
std::string AutomatonToEbnf(const Automaton& automaton, TextPlace place, const std::string& prefix,
                            std::string* rules);

}  // namespace mlc
