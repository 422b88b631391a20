// Which states of an automaton no text can tell apart.
#ifndef MLC_GRAMMAR_TEXT_MINIMIZE_H_
#define MLC_GRAMMAR_TEXT_MINIMIZE_H_

#include <vector>

#include "grammar/text/automaton.h"

namespace mlc {

// Edges with their targets renamed; neighbours that lead to one place become one.
std::vector<Automaton::Edge> Renamed(const std::vector<Automaton::Edge>& edges,
                                     const std::vector<int>& names);

// The class of each state, numbered in the order in which the states meet them. Where the budget of
// work is spent, each state has a class of its own.
std::vector<int> EqualStates(const std::vector<Automaton::State>& states);

}  // namespace mlc

#endif  // MLC_GRAMMAR_TEXT_MINIMIZE_H_
