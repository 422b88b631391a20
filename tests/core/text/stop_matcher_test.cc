#include "text/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>

namespace mlc {
namespace {

struct Outcome {
  std::string text;
  int index = -1;
};

// Feeds `text` in pieces of `step` bytes.
Outcome Feed(const std::vector<std::string>& stops, const std::string& text, size_t step) {
  StopMatcher matcher(stops);
  Outcome outcome;
  for (size_t i = 0; i < text.size(); i += step) {
    StopMatcher::Out out = matcher.Put(std::string_view(text).substr(i, step));
    outcome.text += out.text;
    if (out.stopped) {
      outcome.index = out.index;
      return outcome;
    }
  }
  outcome.text += matcher.Finish();
  return outcome;
}

// What the automaton must do, written the slow way: look at every prefix.
Outcome Slowly(const std::vector<std::string>& stops, const std::string& text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    int best = -1;
    for (size_t i = 0; i < stops.size(); ++i) {
      const std::string& stop = stops[i];
      if (stop.empty() || stop.size() > end) continue;
      if (text.compare(end - stop.size(), stop.size(), stop) != 0) continue;
      if (best < 0 || stop.size() > stops[best].size()) best = static_cast<int>(i);
    }
    if (best >= 0) return {text.substr(0, end - stops[best].size()), best};
  }
  return {text, -1};
}

TEST(StopMatcherTest, HoldsBackOnlyWhatMayBeAStop) {
  StopMatcher matcher({"</s>", "\nUser:"});
  EXPECT_EQ(matcher.Put("Hello <").text, "Hello ");
  EXPECT_EQ(matcher.Put("/").text, "");
  EXPECT_EQ(matcher.Put("b>\nUs").text, "</b>");
  StopMatcher::Out out = matcher.Put("er: more");
  EXPECT_TRUE(out.stopped);
  EXPECT_EQ(out.index, 1);
  EXPECT_EQ(out.text, "");
  EXPECT_EQ(matcher.Put("again").text, "");
  EXPECT_TRUE(matcher.Put("again").stopped);
}

TEST(StopMatcherTest, FinishLetsOutTheRestAndStartsAnew) {
  StopMatcher matcher({"stop"});
  EXPECT_EQ(matcher.Put("a sto").text, "a ");
  EXPECT_EQ(matcher.Finish(), "sto");
  EXPECT_FALSE(matcher.Put("p").stopped);
}

TEST(StopMatcherTest, CopiesAreIndependent) {
  StopMatcher matcher({"abc"});
  (void)matcher.Put("ab");
  StopMatcher copy = matcher;
  EXPECT_TRUE(copy.Put("c").stopped);
  EXPECT_EQ(matcher.Put("d").text, "abd");
}

TEST(StopMatcherTest, EqualsTheSlowWayOnRandomTexts) {
  std::mt19937 rng(7);
  auto word = [&rng](size_t max) {
    std::string out(rng() % max, ' ');
    for (char& c : out) c = static_cast<char>('a' + rng() % 2);
    return out;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops;
    for (size_t i = rng() % 4; i > 0; --i) stops.push_back(word(6));
    std::string text = word(24);
    Outcome expected = Slowly(stops, text);
    for (size_t step : {1, 2, 5, 100}) {
      Outcome outcome = Feed(stops, text, step);
      ASSERT_EQ(outcome.text, expected.text) << text;
      bool same = outcome.index == expected.index ||
                  stops[outcome.index] == stops[expected.index];  // a stop given twice
      ASSERT_TRUE(same) << text;
    }
  }
}

TEST(StopMatcherTest, AThousandStopsTakeLinearTime) {
  std::vector<std::string> stops;
  for (int i = 0; i < 1000; ++i) stops.push_back(std::string(i, 'a') + "b");
  std::string text(1 << 20, 'a');
  EXPECT_EQ(Feed(stops, text, 7).text, text);
  EXPECT_EQ(Feed(stops, text + "b", 7).text.size(), text.size() - 999);
}

}  // namespace
}  // namespace mlc
