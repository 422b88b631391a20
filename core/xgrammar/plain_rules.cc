#include "plain_rules.h"

#include <algorithm>

#include "grammar_functor.h"

namespace xgrammar {

// The states of one rule that are made, equal ones once. All lists keep their memory for the next
// rule: most rules have few states, and there may be thousands of rules.
struct PlainRules::Rule {
  struct MadeState {
    bool is_end;
    int32_t loop;
    size_t first_edge, end_edge;
    uint64_t hash;
    int32_t number;  // in the automaton
  };
  std::vector<MadeState> states;
  std::vector<Edge> edges;     // those of all states
  std::vector<int32_t> slots;  // a hash table of states; its size is a power of two
  std::map<std::tuple<int32_t, int32_t, int32_t>, int32_t> inside_classes;
  std::vector<int32_t> ends;
  int32_t num_edges = 0;
  std::vector<Word> words;
  std::vector<State> path;  // along the word that was read last; no later word changes others

  void Clear() {
    states.clear();
    edges.clear();
    slots.assign(16, kNone);
    inside_classes.clear();
    ends.clear();
    num_edges = 0;
  }

  static uint64_t HashOf(const State& state) {
    uint64_t hash = static_cast<uint64_t>(state.loop) * 2 + state.is_end;
    for (const Edge& edge : state.edges) {
      hash = (hash ^ static_cast<uint64_t>(edge.label)) * 0x9E3779B97F4A7C15u;
      hash = (hash ^ (hash >> 29) ^ static_cast<uint64_t>(edge.target)) * 0xBF58476D1CE4E5B9u;
    }
    return hash ^ (hash >> 32);
  }

  bool IsEqual(const MadeState& made, const State& state, uint64_t hash) const {
    return made.hash == hash && made.is_end == state.is_end && made.loop == state.loop &&
           made.end_edge - made.first_edge == state.edges.size() &&
           std::equal(state.edges.begin(), state.edges.end(), edges.data() + made.first_edge);
  }

  // The first slot behind the hash for which `is_wanted`, or that is free.
  template <typename IsWanted>
  int32_t& SlotOf(uint64_t hash, IsWanted is_wanted) {
    size_t at = hash & (slots.size() - 1);
    while (slots[at] != kNone && !is_wanted(states[static_cast<size_t>(slots[at])])) {
      at = (at + 1) & (slots.size() - 1);
    }
    return slots[at];
  }

  // The place of the state among those that are made, and whether it was not there.
  std::pair<int32_t, bool> Insert(const State& state) {
    uint64_t hash = HashOf(state);
    int32_t next = static_cast<int32_t>(states.size());
    int32_t& slot = SlotOf(hash, [&](const MadeState& made) { return IsEqual(made, state, hash); });
    if (slot != kNone) return {slot, false};
    slot = next;
    size_t first = edges.size();
    edges.insert(edges.end(), state.edges.begin(), state.edges.end());
    states.push_back({state.is_end, state.loop, first, edges.size(), hash, kNone});
    if (2 * states.size() < slots.size()) return {next, true};
    slots.assign(2 * slots.size(), kNone);
    for (size_t i = 0; i < states.size(); ++i) {
      SlotOf(states[i].hash, [](const MadeState&) { return false; }) = static_cast<int32_t>(i);
    }
    return {next, true};
  }
};

PlainRules::PlainRules(Grammar grammar, FSM* fsm)
    : grammar_(std::move(grammar)), fsm_(fsm), rule_(std::make_unique<Rule>()) {}
PlainRules::~PlainRules() = default;

std::optional<FSMWithStartEndWithSize> PlainRules::Add(int32_t rule_id) {
  const auto body = grammar_->GetGrammarExpr(grammar_->GetRule(rule_id).body_expr_id);
  if (body.type != ExprType::kChoices) return std::nullopt;
  Rule& rule = *rule_;
  const size_t num_words = static_cast<size_t>(body.size());
  if (rule.words.size() < num_words) rule.words.resize(num_words);
  const auto words = rule.words.begin(), end = words + body.size();
  for (int32_t i = 0; i < body.size(); ++i) {
    words[i].clear();
    if (!ReadWord(grammar_->GetGrammarExpr(body[i]), &words[i])) return std::nullopt;
  }
  std::sort(words, end);
  int32_t first = fsm_->NumStates();
  rule.Clear();
  std::vector<State>& path = rule.path;
  if (path.empty()) path.resize(1);
  path[0].is_end = false;
  path[0].loop = kNone;
  path[0].edges.clear();
  size_t depth = 0;
  auto shorten = [&](size_t to) {
    for (; depth > to; --depth) path[depth - 1].edges.back().target = Made(path[depth], &rule);
  };
  for (auto one = words; one != end; ++one) {
    const Word& word = *one;
    size_t same = 0;
    while (same < depth && same < word.size() && path[same].edges.back().label == word[same]) {
      ++same;
    }
    shorten(same);
    if (path.size() <= word.size()) path.resize(word.size() + 1);
    for (; depth < word.size(); ++depth) {
      path[depth].edges.push_back({word[depth], kNone});
      State& next = path[depth + 1];
      next.is_end = false;
      next.loop = StepOf(word[depth]).loop;
      next.edges.clear();
    }
    path[depth].is_end = true;
  }
  shorten(0);
  int32_t start = Made(path[0], &rule);
  FSMWithStartEnd made(*fsm_, rule.states[static_cast<size_t>(start)].number, rule.ends);
  return FSMWithStartEndWithSize(made, rule.num_edges, fsm_->NumStates() - first);
}

bool PlainRules::ReadWord(const Grammar::Impl::GrammarExpr& choice, Word* word) {
  if (choice.type == ExprType::kEmptyStr) return true;
  if (choice.type != ExprType::kSequence) return false;
  for (int32_t part_id : choice) {
    const auto part = grammar_->GetGrammarExpr(part_id);
    if (part.type == ExprType::kByteString) {
      for (int32_t byte : part) word->push_back(static_cast<uint8_t>(byte));
    } else if (part.type == ExprType::kRuleRef) {
      word->push_back(LabelOf({Kind::kRule, part[0], kNone}));
    } else if (part.type == ExprType::kCharacterClass) {
      word->push_back(LabelOf({Kind::kClass, ClassOf(part), kNone}));
    } else if (part.type == ExprType::kCharacterClassStar) {
      // The state in front of it has the loop, which no word may have that does not lead there.
      Step last = word->empty() ? Step{} : StepOf(word->back());
      if (word->empty() || last.loop != kNone) return false;
      last.loop = ClassOf(part);
      word->back() = LabelOf(last);
    } else {
      return false;
    }
  }
  return true;
}

PlainRules::Label PlainRules::LabelOf(const Step& step) {
  Label next = kBytes + static_cast<Label>(steps_.size());
  auto [found, is_new] = labels_.emplace(step, next);
  if (is_new) steps_.push_back(step);
  return found->second;
}

PlainRules::Step PlainRules::StepOf(Label label) const {
  if (label < kBytes) return {std::nullopt, label, kNone};
  return steps_[static_cast<size_t>(label - kBytes)];
}

// Classes with the same characters are one.
int32_t PlainRules::ClassOf(const Grammar::Impl::GrammarExpr& expr) {
  std::vector<int32_t> ranges(expr.begin(), expr.end());
  auto [found, is_new] =
      class_ids_.emplace(std::move(ranges), static_cast<int32_t>(classes_.size()));
  if (is_new) {
    Grammar::Impl::GrammarExpr once = expr;
    once.type = ExprType::kCharacterClass;
    classes_.push_back(
        GrammarFSMBuilder::CharacterClass(once).SimplifyEpsilon().MergeEquivalentStates());
  }
  return found->second;
}

// The number of the state among those of the rule.
int32_t PlainRules::Made(const State& state, Rule* rule) {
  auto [place, is_new] = rule->Insert(state);
  if (!is_new) return place;
  int32_t number = fsm_->AddState();
  rule->states[static_cast<size_t>(place)].number = number;
  if (state.is_end) rule->ends.push_back(number);
  for (size_t i = 0; i < state.edges.size(); ++i) {
    const Edge& edge = state.edges[i];
    int32_t target = rule->states[static_cast<size_t>(edge.target)].number;
    Step step = StepOf(edge.label);
    if (step.kind == Kind::kRule) fsm_->AddRuleEdge(number, target, step.value);
    if (step.kind == Kind::kClass) AddClass(step.value, number, target, rule);
    if (step.kind) continue;
    int32_t last = step.value;
    for (; i + 1 < state.edges.size() && last + 1 == state.edges[i + 1].label &&
           state.edges[i + 1].target == edge.target && last + 1 < kBytes;
         ++i) {
      ++last;
    }
    fsm_->AddEdge(number, target, step.value, last);
    ++rule->num_edges;
  }
  if (state.loop != kNone) AddClass(state.loop, number, number, rule);
  return place;
}

void PlainRules::AddClass(int32_t class_id, int32_t from, int32_t to, Rule* rule) {
  AddClassEdges(class_id, classes_[static_cast<size_t>(class_id)].GetStart(), from, to, rule);
}

// The edges of one state of a class, whose states inside of a character are made once for each
// state that it leads to.
void PlainRules::AddClassEdges(int32_t class_id, int32_t place, int32_t from, int32_t to,
                               Rule* rule) {
  const FSMWithStartEnd& one = classes_[static_cast<size_t>(class_id)];
  for (const FSMEdge& edge : one.GetFsm().GetEdges(place)) {
    int32_t target = to;
    if (!one.IsEndState(edge.target)) {
      auto [found, is_new] = rule->inside_classes.emplace(
          std::make_tuple(class_id, static_cast<int32_t>(edge.target), to), kNone);
      if (is_new) found->second = fsm_->AddState();
      target = found->second;
      if (is_new) AddClassEdges(class_id, edge.target, target, to, rule);
    }
    fsm_->AddEdge(from, target, edge.min, edge.max);
    ++rule->num_edges;
  }
}

}  // namespace xgrammar
