// What we add to xgrammar: the automaton of a rule whose parts are bytes, classes of characters and
// other rules. cmake/XGrammar.cmake joins it to xgrammar's sources.
//
// xgrammar makes an automaton with empty edges, removes these, and then joins equal states in
// rounds that compare each with each. For a list of some thousand values that takes 0.2 s. Here the
// alternatives are sorted, and each state is made once, behind those that follow it (Daciuk et al.,
// "Incremental Construction of Minimal Acyclic Finite-State Automata", 2000).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fsm.h"
#include "grammar_impl.h"

namespace xgrammar {

class PlainRules {
 public:
  // The automata are added to `fsm`.
  PlainRules(Grammar grammar, FSM* fsm);
  ~PlainRules();
  // Nothing where the rule has other parts.
  std::optional<FSMWithStartEndWithSize> Add(int32_t rule_id);

 private:
  using ExprType = Grammar::Impl::GrammarExprType;
  enum class Kind { kRule, kClass };
  // What is read between two states, if it is not a byte; `loop`: a class of which any number of
  // characters may follow. Bytes stand for themselves before such a class.
  struct Step {
    std::optional<Kind> kind;
    int32_t value;
    int32_t loop;
    bool operator<(const Step& other) const {
      return std::tie(kind, value, loop) < std::tie(other.kind, other.value, other.loop);
    }
  };
  using Label = int32_t;  // a byte, or kBytes and the number of a step
  using Word = std::vector<Label>;
  struct Edge {
    Label label;
    int32_t target;
    bool operator==(const Edge& other) const {
      return label == other.label && target == other.target;
    }
  };
  struct State {
    bool is_end = false;
    int32_t loop = kNone;
    std::vector<Edge> edges;
  };
  struct Rule;
  static constexpr int32_t kNone = -1, kBytes = 256;

  bool ReadWord(const Grammar::Impl::GrammarExpr& choice, Word* word);
  Label LabelOf(const Step& step);
  Step StepOf(Label label) const;
  int32_t ClassOf(const Grammar::Impl::GrammarExpr& expr);
  int32_t Made(const State& state, Rule* rule);
  void AddClass(int32_t class_id, int32_t from, int32_t to, Rule* rule);
  void AddClassEdges(int32_t class_id, int32_t place, int32_t from, int32_t to, Rule* rule);

  Grammar grammar_;
  FSM* fsm_;
  std::vector<Step> steps_;
  std::map<Step, Label> labels_;
  std::vector<FSMWithStartEnd> classes_;
  std::map<std::vector<int32_t>, int32_t> class_ids_;
  std::unique_ptr<Rule> rule_;
};

}  // namespace xgrammar
