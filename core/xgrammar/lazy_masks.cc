#include "lazy_masks.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "compiled_grammar_impl.h"
#include "grammar_impl.h"

namespace xgrammar {
namespace {

// Matchers on several threads share a grammar. The map never moves its values, and two threads that
// make the same mask make equal ones.
const AdaptiveTokenMask* Find(const CompiledGrammar::Impl& grammar, const ParserState& state) {
  std::lock_guard<std::mutex> lock(grammar.mask_mutex);
  auto found = grammar.adaptive_token_mask_cache.find(state);
  return found == grammar.adaptive_token_mask_cache.end() ? nullptr : &found->second;
}

// The rules that a state refers to.
std::vector<int32_t> RulesAt(const Grammar& grammar, int state) {
  const CompactFSM& fsm = grammar->complete_fsm;
  std::vector<int32_t> rules;
  for (const FSMEdge& edge : fsm.GetEdges(state)) {
    if (edge.IsRuleRef()) rules.push_back(edge.GetRefRuleId());
    if (edge.IsRepeatRef()) rules.push_back(fsm.GetRepeatEdgeInfo(edge.GetAuxIndex()).RuleId());
  }
  return rules;
}

// The states of one rule that read bytes or tokens, in the order of their numbers; adds the rules
// that it refers to.
std::vector<ParserState> StatesOf(const Grammar& grammar, int32_t rule_id,
                                  std::vector<int32_t>* next_rules) {
  const auto& fsm = grammar->per_rule_fsms[rule_id]->GetFsm();
  std::unordered_set<int> reachable;
  fsm.GetReachableStates(&reachable);
  std::vector<int> ordered(reachable.begin(), reachable.end());
  std::sort(ordered.begin(), ordered.end());
  std::vector<ParserState> states;
  for (int state : ordered) {
    for (int32_t rule : RulesAt(grammar, state)) next_rules->push_back(rule);
    if (!fsm.IsScanableState(state)) continue;
    states.emplace_back(rule_id, grammar->GetRule(rule_id).body_expr_id, state,
                        ParserState::kNoPrevInputPos);
  }
  return states;
}

}  // namespace

const AdaptiveTokenMask& CompiledGrammar::Impl::MaskOf(const ParserState& state) {
  if (const AdaptiveTokenMask* mask = Find(*this, state)) return *mask;
  AdaptiveTokenMask made = make_mask(state);
  int64_t bytes = static_cast<int64_t>(MemorySize(made));
  std::lock_guard<std::mutex> lock(mask_mutex);
  auto [place, is_new] = adaptive_token_mask_cache.emplace(state, std::move(made));
  if (is_new) mask_bytes += bytes;
  return place->second;
}

void MakeFirstMasks(CompiledGrammar compiled, int64_t num_rows) {
  const Grammar grammar = compiled->GetGrammar();
  if (!compiled->make_mask) return;  // the vocabulary is empty
  const int64_t rows_at_end = rows_left - num_rows;
  std::vector<int32_t> rules = {grammar->GetRootRuleId()};
  std::vector<bool> is_seen(static_cast<size_t>(grammar->NumRules()));
  for (size_t at = 0; at < rules.size(); ++at) {
    if (is_seen[static_cast<size_t>(rules[at])]) continue;
    is_seen[static_cast<size_t>(rules[at])] = true;
    for (const ParserState& state : StatesOf(grammar, rules[at], &rules)) {
      if (rows_left <= rows_at_end) return;
      compiled->MaskOf(state);
    }
  }
}

int64_t MaskBytes(const CompiledGrammar& grammar) { return grammar->mask_bytes; }

}  // namespace xgrammar
