// Sets of texts as deterministic automata over code points: what patterns, formats, lengths and
// excluded values say together. All of it takes from the WorkBudget of the thread.
//
//   MLC_ASSIGN_OR_RETURN(Automaton words, Automaton::Matching("^[a-z]+$"));
//   MLC_ASSIGN_OR_RETURN(Automaton both, words.And(Automaton::OfLength(0, 8)));
//   if (!both.is_empty()) ...
#ifndef MLC_GRAMMAR_TEXT_AUTOMATON_H_
#define MLC_GRAMMAR_TEXT_AUTOMATON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/unicode/unicode.h"

namespace mlc {

class Automaton {
 public:
  struct Edge {
    char32_t first;  // up to the next edge's, or U+10FFFF
    int target;
  };
  struct State {
    bool accepts = false;
    std::vector<Edge> edges;  // from U+0000 on, sorted: every code point has a target
  };

  // Texts in which the pattern (ECMAScript's syntax) matches somewhere: a pattern is anchored by
  // its own '^' and '$' only. Errors: kInvalidArgument for what is malformed, kUnsupported for what
  // no automaton can say, or only a large one.
  // Where `most` is not below 0, repetitions up to more are read as up to so many: fewer texts
  // match.
  static Result<Automaton> Matching(std::string_view pattern, int most = -1);
  // Texts that the pattern matches from end to end.
  static Result<Automaton> MatchingWhole(std::string_view pattern);
  // Texts of `min` to `max` code points; `max` below 0: no end.
  static Automaton OfLength(int64_t min, int64_t max);
  // These texts (UTF-8) and no others. kUnsupported where they are too many for the budget of work.
  static Result<Automaton> OfTexts(const std::vector<std::string>& texts);
  static Automaton Everything() { return OfLength(0, -1); }

  // `states` are the caller's, each with edges for all code points; made as few as can be, as long
  // as the budget of work lasts.
  explicit Automaton(std::vector<State> states);

  Automaton Not() const;
  // kUnsupported where the result is too large. It may have more states than it needs.
  Result<Automaton> And(const Automaton& other) const;

  bool is_empty() const;
  bool Accepts(std::string_view text) const;
  // Code points of the shortest text; -1 where there is none.
  int64_t ShortestLength() const;
  // State 0 is where texts begin; as few states as can be.
  const std::vector<State>& states() const { return states_; }

 private:
  Automaton() = default;
  void MergeDead();

  std::vector<State> states_;
};

// The most states of what is built; beyond it texts would take too long to compile.
constexpr size_t kMaxAutomatonStates = 800;

}  // namespace mlc

#endif  // MLC_GRAMMAR_TEXT_AUTOMATON_H_
