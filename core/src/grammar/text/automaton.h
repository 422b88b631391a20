// Sets of texts as deterministic automata over code points. They combine patterns, formats, lengths
// and excluded values. All functions use the WorkBudget of the thread.
//
//   MLC_ASSIGN_OR_RETURN(Automaton words, Automaton::Matching("^[a-z]+$"));
//   MLC_ASSIGN_OR_RETURN(Automaton both, words.And(Automaton::OfLength(0, 8)));
//   if (!both.is_empty()) ...
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/unicode/unicode.h"

namespace mlc {

class Automaton {
 public:
  struct Edge {
    char32_t first;  // the edge ends before the next edge's `first`, or at U+10FFFF
    int target;
  };
  struct State {
    bool accepts = false;
    std::vector<Edge> edges;  // sorted, the first begins at U+0000: all code points have a target
    int Target(char32_t c) const;
  };

  // Texts in which the pattern (ECMAScript's syntax) matches somewhere: only '^' and '$' in the
  // pattern anchor it. Errors: kInvalidArgument for a malformed pattern, kUnsupported for a pattern
  // that has no automaton, or only a too large one.
  // If `most` is not below 0, it replaces larger upper limits of repetitions: fewer texts match.
  static Result<Automaton> Matching(std::string_view pattern, int most = -1);
  // Texts that the pattern matches from end to end.
  static Result<Automaton> MatchingWhole(std::string_view pattern);
  // Texts of `min` to `max` code points; `max` below 0: no limit.
  static Automaton OfLength(int64_t min, int64_t max);
  // Exactly these texts (UTF-8). kUnsupported if they are too many for the budget of work.
  static Result<Automaton> OfTexts(const std::vector<std::string>& texts);
  static Automaton Everything() { return OfLength(0, -1); }

  // From states of the caller, each with edges for all code points. Minimizes the states, if the
  // budget of work allows it.
  explicit Automaton(std::vector<State> states);

  Automaton Not() const;
  // kUnsupported if the result is too large. The result is not minimized.
  Result<Automaton> And(const Automaton& other) const;

  bool is_empty() const;
  bool Accepts(std::string_view text) const;
  // Code points of the shortest text; -1 if there is no text.
  int64_t ShortestLength() const;
  // Code points of the longest text; -1 if there is no limit, or no text.
  int64_t LongestLength() const;
  // Equal ones have equal states.
  std::string Key() const;
  // Texts begin in state 0.
  const std::vector<State>& states() const { return *states_; }

 private:
  using States = std::vector<State>;
  explicit Automaton(std::shared_ptr<const States> states) : states_(std::move(states)) {}
  static Automaton CountedTexts(int64_t min, int64_t max);
  static Result<Automaton> ListedTexts(const std::vector<std::string>& texts);
  Result<Automaton> Intersect(const Automaton& other) const;

  std::shared_ptr<const States> states_;  // shared by copies
};

// The texts that match a pattern, or do not, of which `matching` are those that match. Texts about
// which readers disagree are left out.
Result<Automaton> AgreedTexts(const std::string& pattern, bool negated, const Automaton& matching);

// The limit of states; a larger automaton would take too long to compile.
constexpr size_t kMaxAutomatonStates = 800;

}  // namespace mlc
