#include "grammar/text/automaton_memo.h"

#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

constexpr int64_t kMostKept = 200'000;  // states, some 10 MB

}  // namespace

std::string AutomatonMemo::KeyOf(char operation, std::initializer_list<Automaton> operands,
                                 const std::string& text) {
  std::string key(1, operation);
  for (const Automaton& one : operands) {
    const auto* states = &one.states();
    key.append(reinterpret_cast<const char*>(&states), sizeof(states));
  }
  return key + text;
}

void AutomatonMemo::Keep(std::string key, std::initializer_list<Automaton> operands,
                         const Result<Automaton>& made) {
  if (WorkBudget::is_spent()) return;
  num_states_ += made.ok() ? static_cast<int64_t>(made->states().size()) : 1;
  if (num_states_ <= kMostKept) made_.emplace(std::move(key), Entry{operands, made});
}

}  // namespace mlc
