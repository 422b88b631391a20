#include "grammar/text/automaton_memo.h"

#include <gtest/gtest.h>

#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

int CallsOf(int count, const std::string& text) {
  int calls = 0;
  for (int i = 0; i < count; ++i) {
    Result<Automaton> made =
        AutomatonMemo::Remember('x', {}, text, [&calls]() -> Result<Automaton> {
          ++calls;
          return Unsupported("too large");
        });
    EXPECT_FALSE(made.ok());
  }
  return calls;
}

TEST(AutomatonMemo, RemembersWhileItLives) {
  EXPECT_EQ(CallsOf(2, "a"), 2);
  {
    AutomatonMemo memo;
    EXPECT_EQ(CallsOf(2, "a"), 1);
    EXPECT_EQ(CallsOf(2, "b"), 1);
    EXPECT_EQ(CallsOf(2, "a"), 0);
  }
  EXPECT_EQ(CallsOf(2, "a"), 2);
}

TEST(AutomatonMemo, AnotherBudgetMayBeEnough) {
  AutomatonMemo memo;
  {
    WorkBudget none(-1);
    EXPECT_EQ(CallsOf(2, "a"), 2);
  }
  EXPECT_EQ(CallsOf(2, "a"), 1);
}

TEST(AutomatonMemo, EqualOperandsHaveOneResult) {
  AutomatonMemo memo;
  Automaton words = *Automaton::Matching("^[a-z]+$");
  Automaton twice = *Automaton::Matching("^[a-z]+$");
  EXPECT_EQ(&words.states(), &twice.states());
  Automaton one = *words.And(Automaton::OfLength(2, 3)),
            other = *twice.And(Automaton::OfLength(2, 3));
  EXPECT_EQ(&one.states(), &other.states());
  EXPECT_TRUE(one.Accepts("ab"));
  EXPECT_FALSE(one.Accepts("a"));
  EXPECT_FALSE(one.Not().Accepts("ab"));
}

}  // namespace
}  // namespace mlc
