#include "grammar/text/automaton.h"

#include <gtest/gtest.h>

#include "grammar/text/work_budget.h"

namespace mlc {
namespace {

Automaton Of(std::string_view pattern) {
  Result<Automaton> made = Automaton::Matching(pattern);
  EXPECT_TRUE(made.ok()) << pattern << ": " << made.status().message();
  return made.ok() ? *made : Automaton::Everything();
}

struct Case {
  const char *pattern, *text;
  bool is_accepted;
};

TEST(Automaton, MatchesWhereThePatternDoes) {
  const Case cases[] = {
      {"b", "abc", true},
      {"^b", "abc", false},
      {"c$", "abc", true},
      {"^$", "", true},
      {"^$", "a", false},
      {"^a|b$", "ax", true},
      {"^a|b$", "xa", false},
      {"^(a|b){2,3}$", "aba", true},
      {"^(a|b){2,3}$", "abab", false},
      {"^[^a]$", "\n", true},
      {"^.$", "\n", false},
      {"^.$", "\xF0\x9F\x98\x80", true},
      {"^(?!foo$)[a-z]+$", "foo", false},
      {"^(?!foo$)[a-z]+$", "food", true},
      {"\\d", "\xD9\xA3", false},
      {"^a+?$", "aaa", true},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(Of(one.pattern).Accepts(one.text), one.is_accepted) << one.pattern << " " << one.text;
  }
}

TEST(Automaton, MatchesWholeTextsWithoutAnchors) {
  Result<Automaton> whole = Automaton::MatchingWhole("a|bc");
  ASSERT_TRUE(whole.ok());
  EXPECT_TRUE(whole->Accepts("bc"));
  EXPECT_FALSE(whole->Accepts("abc"));
}

TEST(Automaton, JoinsAndInverts) {
  Result<Automaton> both = Of("a").And(Of("b$"));
  ASSERT_TRUE(both.ok());
  EXPECT_TRUE(both->Accepts("xab"));
  EXPECT_FALSE(both->Accepts("ba"));
  EXPECT_TRUE(both->Not().Accepts("ba"));
  EXPECT_FALSE(both->Not().Accepts("xab"));
  Result<Automaton> none = Of("^a").And(Of("^a").Not());
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->is_empty());
  EXPECT_FALSE(both->is_empty());
}

TEST(Automaton, CountsCodePoints) {
  Automaton two = Automaton::OfLength(2, 3);
  EXPECT_FALSE(two.Accepts("a"));
  EXPECT_TRUE(two.Accepts("\xC3\xA9\xC3\xA9"));
  EXPECT_TRUE(two.Accepts("abc"));
  EXPECT_FALSE(two.Accepts("abcd"));
  EXPECT_TRUE(Automaton::OfLength(2, -1).Accepts("abcd"));
}

TEST(Automaton, KnowsItsShortestText) {
  EXPECT_EQ(Of("^ab{2,}c?$").ShortestLength(), 3);
  EXPECT_EQ(Of("a|bc").ShortestLength(), 1);
  EXPECT_EQ(Of("^x*$").ShortestLength(), 0);
  EXPECT_EQ(Automaton::Everything().Not().ShortestLength(), -1);
}

TEST(Automaton, HoldsListedTextsAndNoOthers) {
  Result<Automaton> listed = Automaton::OfTexts({"one", "once", ""});
  ASSERT_TRUE(listed.ok());
  for (const char* text : {"one", "once", ""}) EXPECT_TRUE(listed->Accepts(text)) << text;
  for (const char* text : {"on", "onc", "ones"}) EXPECT_FALSE(listed->Accepts(text)) << text;
}

TEST(Automaton, HasAsFewStatesAsItNeeds) {
  // One for each number of a's up to two, and one for everything else.
  EXPECT_EQ(Of("^(a|aa|a?a)$").states().size(), 4u);
  EXPECT_EQ(Automaton::Everything().states().size(), 1u);
}

TEST(Automaton, ForgetsWhatItReadsWhereEveryRestIsAccepted) {
  // With what it reads beside a match these would take a state for each of the last letters.
  EXPECT_EQ(Of("(a|b)*a(a|b|c){9}").states().size(), 11u);
  EXPECT_LE(Of("\\b(a|b)*a(a|b|c){9}").states().size(), 24u);
  EXPECT_EQ(Automaton::Matching("(a|b)*a(a|b|c){10}$").status().code(), StatusCode::kUnsupported);
}

TEST(Automaton, ReadsFewerRepetitionsWhereAsked) {
  Result<Automaton> few = Automaton::Matching("^a{1,9}$", 3);
  ASSERT_TRUE(few.ok());
  EXPECT_TRUE(few->Accepts("aaa"));
  EXPECT_FALSE(few->Accepts("aaaa"));
}

TEST(Automaton, LooksAheadAnywhere) {
  struct Case {
    const char *pattern, *text;
    bool matches;
  };
  for (const Case& c : std::vector<Case>{
           {"a(?=b)", "ab", true},
           {"a(?=b)", "ac", false},
           {"^((?!ab|cd).)*$", "acbd", true},
           {"^((?!ab|cd).)*$", "xcdx", false},
           {"^P(?!$)(1Y)?(T(?=1)(1H)?)?$", "P1Y", true},
           {"^P(?!$)(1Y)?(T(?=1)(1H)?)?$", "PT1H", true},
           {"^P(?!$)(1Y)?(T(?=1)(1H)?)?$", "P1YT", false},
           {"^P(?!$)(1Y)?(T(?=1)(1H)?)?$", "P", false},
           {"^x(?:(?!.*--)[a-z-]*[a-z])?/y-*$", "xa-b/y", true},
           {"^x(?:(?!.*--)[a-z-]*[a-z])?/y-*$", "xa-b/y--", false},
           {"^x(?:(?!.*--)[a-z-]*[a-z])?/y-*$", "x/y--", true},
           {"(?=a(?!b))[a-c]+$", "ab", false},
           {"(?=a(?!b))[a-c]+$", "ac", true},
           {"\\b(high|low)\\b", "too high!", true},
           {"\\b(high|low)\\b", "highest", false},
           {"\\b(high|low)\\b", "\xC3\xA9high", false},  // readers disagree about it
           {"a\\Bb", "ab", true},
           {"a\\B", "a", false},
           {"^\\B$", "", false},
       }) {
    Result<Automaton> texts = Automaton::Matching(c.pattern);
    ASSERT_TRUE(texts.ok()) << c.pattern << ": " << texts.status().message();
    EXPECT_EQ(texts->Accepts(c.text), c.matches) << c.pattern << " " << c.text;
  }
}

TEST(Automaton, RepeatsNoMoreThanItMustWhereAPatternMayMatchAnywhere) {
  Result<Automaton> texts = Automaton::Matching("[ab]{1,256}\\.c{2,9}");
  ASSERT_TRUE(texts.ok());
  EXPECT_LE(texts->states().size(), 6u);
  EXPECT_TRUE(texts->Accepts("xabab.ccccx"));
  EXPECT_FALSE(texts->Accepts("ab.cx"));
}

TEST(Automaton, SaysWhatItCannotRead) {
  EXPECT_EQ(Automaton::Matching("(").status().code(), StatusCode::kInvalidArgument);
  for (const char* pattern : {"(?<=a)b", "a(?=\\bb)", "(a|b)*a(a|b){14}"}) {
    EXPECT_EQ(Automaton::Matching(pattern).status().code(), StatusCode::kUnsupported) << pattern;
  }
}

TEST(Automaton, EndsWithItsBudget) {
  WorkBudget budget(100);
  EXPECT_EQ(Automaton::Matching("^[a-z]{1,200}$").status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace mlc
