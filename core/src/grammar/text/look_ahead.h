// Nondeterministic automata of regular expressions, and those of them that look ahead.
#pragma once

#include <vector>

#include "base/status.h"
#include "grammar/text/automaton.h"

namespace mlc {

// One way on: over a character, or without one, perhaps at one end of the text only, where the rest
// of the text is one of a set, or at the edge of a word.
struct Way {
  enum class When { kCharacter, kAlways, kAtBegin, kAtEnd, kLook, kWordEdge, kNoWordEdge };
  When when;
  int target;
  CodePointRanges set;  // kCharacter
  int look = -1;        // kLook: the set of texts
};
using Ways = std::vector<std::vector<Way>>;  // by the part that they lead away from

// The texts that lead from the part `begin` to the part `end`. `looks`: the sets that ways name.
// Beside characters beyond ASCII there is no edge and no missing edge of a word: readers disagree.
Result<Automaton> DetermineWithLooks(const Ways& ways, int begin, int end,
                                     std::vector<Automaton> looks);

}  // namespace mlc
