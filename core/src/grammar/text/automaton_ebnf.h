// Automata as EBNF: a rule for each state.
#ifndef MLC_GRAMMAR_TEXT_AUTOMATON_EBNF_H_
#define MLC_GRAMMAR_TEXT_AUTOMATON_EBNF_H_

#include <string>

#include "grammar/text/automaton.h"

namespace mlc {

enum class TextPlace {
  kPlain,        // the texts as they are
  kInJsonString  // behind an opening quote: with escapes where they must be, and the closing quote
};

// Appends rules that begin with `prefix` and returns the name of the first; "" where no text is
// left. Behind what fits in any case the rule `text` goes on, in a string. A rule holds what comes
// next in a text and the rest of it: of a token that reaches beyond its rule the matcher cannot
// know beforehand whether it fits, and a mask then takes milliseconds.
std::string AutomatonToEbnf(const Automaton& automaton, TextPlace place, const std::string& prefix,
                            std::string* rules);

}  // namespace mlc

#endif  // MLC_GRAMMAR_TEXT_AUTOMATON_EBNF_H_
