#include "lazy_masks.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "compiled_grammar_impl.h"
#include "grammar_impl.h"

namespace xgrammar {
namespace {

std::atomic<int64_t> all_mask_bytes{0};

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

thread_local Allowance allowance;

namespace {

// The parser that makes a mask has a smaller limit than that of the text.
struct FewStates {
  FewStates() { allowance.most_states = kMostMaskStates; }
  ~FewStates() {
    allowance.most_states = kMostStates;
    allowance.num_states = num_states;
  }
  const int64_t num_states = allowance.num_states;
};

}  // namespace

// Matchers on several threads share a grammar. Two that make the same mask make equal ones.
CompiledGrammar::Impl::SharedMask CompiledGrammar::Impl::MaskOf(const ParserState& state) {
  {
    std::lock_guard<std::mutex> lock(mask_mutex);
    auto found = made_masks.find(state);
    if (found != made_masks.end()) return found->second;
  }
  SpendWork(grammar->NumRules() / kCompared);  // of which the parser makes a list
  std::shared_ptr<const AdaptiveTokenMask> made;
  {
    FewStates few;
    made = std::make_shared<const AdaptiveTokenMask>(make_mask(state));
  }
  constexpr int64_t kEntry = sizeof(AdaptiveTokenMask) + 2 * sizeof(ParserState);
  int64_t bytes = kEntry + static_cast<int64_t>(MemorySize(*made));
  std::lock_guard<std::mutex> lock(mask_mutex);
  if (all_mask_bytes + bytes > kMostMaskBytes && mask_bytes + bytes > kFewMaskBytes) DropMasks();
  if (made_masks.emplace(state, made).second) {
    mask_bytes += bytes;
    all_mask_bytes += bytes;
  }
  return made;
}

// The caller holds the mutex, or is the last owner.
void CompiledGrammar::Impl::DropMasks() {
  made_masks.clear();
  all_mask_bytes -= mask_bytes.exchange(0);
}

void MakeAllMasks(CompiledGrammar compiled) {
  const Grammar grammar = compiled->GetGrammar();
  if (!compiled->make_mask) return;  // the vocabulary is empty
  std::vector<int32_t> rules = {grammar->GetRootRuleId()};
  std::vector<bool> is_seen(static_cast<size_t>(grammar->NumRules()));
  for (size_t at = 0; at < rules.size(); ++at) {
    if (is_seen[static_cast<size_t>(rules[at])]) continue;
    is_seen[static_cast<size_t>(rules[at])] = true;
    for (const ParserState& state : StatesOf(grammar, rules[at], &rules)) compiled->MaskOf(state);
  }
}

int64_t MaskBytes(const CompiledGrammar& grammar) { return grammar->mask_bytes; }

}  // namespace xgrammar
