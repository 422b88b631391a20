// Finds equal states of an automaton: states that accept the same texts.
#pragma once

#include <vector>

#include "grammar/text/automaton.h"

namespace mlc {

// Renames the targets of edges, and joins adjacent edges with the same target.
void Rename(const std::vector<int>& names, std::vector<Automaton::Edge>* edges);

// The class of each state. Classes are numbered in the order of their first states. If the budget
// of work is spent, each state has its own class.
std::vector<int> EqualStates(const std::vector<Automaton::State>& states);

}  // namespace mlc
