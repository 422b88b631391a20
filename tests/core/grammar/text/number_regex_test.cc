#include "grammar/text/number_regex.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "grammar/text/automaton.h"
#include "grammar/text/multiples.h"

namespace mlc {
namespace {

NumberBound At(double value, bool exclusive = false) {
  return {*ToDecimal(Json(value)), exclusive};
}

Automaton Numerals(const Result<std::string>& regex) {
  EXPECT_TRUE(regex.ok()) << regex.status().message();
  Result<Automaton> made = Automaton::MatchingWhole(regex.ok() ? *regex : "");
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? *made : Automaton::Everything();
}

TEST(Decimal, HasTheShortestDigits) {
  Decimal small = *ToDecimal(Json(-0.25));
  EXPECT_TRUE(small.negative);
  EXPECT_EQ(small.whole, "0");
  EXPECT_EQ(small.fraction, "25");
  EXPECT_EQ(ToDecimal(Json(1e20))->whole, "100000000000000000000");
  EXPECT_TRUE(ToDecimal(Json(-0.0))->is_zero());
  EXPECT_FALSE(ToDecimal(Json(-0.0))->negative);
}

TEST(Decimal, IsComparedByValue) {
  auto compare = [](double a, double b) {
    return Compare(*ToDecimal(Json(a)), *ToDecimal(Json(b)));
  };
  EXPECT_EQ(compare(2, 10), -1);
  EXPECT_EQ(compare(-2, -10), 1);
  EXPECT_EQ(compare(0.5, 0.25), 1);
  EXPECT_EQ(compare(1, 1.0), 0);
}

TEST(IntegerRegex, HoldsToItsBoundsAndToAllWithin) {
  const std::pair<int, int> ranges[] = {{-12, 7}, {0, 0}, {95, 1203}, {-1000, -999}, {1, 10}};
  for (auto [low, high] : ranges) {
    Automaton numerals = Numerals(IntegerRegex({At(low), At(high)}));
    for (int i = -1300; i <= 1300; ++i) {
      EXPECT_EQ(numerals.Accepts(std::to_string(i)), i >= low && i <= high) << i << " in " << low;
    }
    for (const char* text : {"", "-", "01", "1.0", "1e1", "+1"}) {
      EXPECT_FALSE(numerals.Accepts(text)) << text;
    }
  }
}

TEST(IntegerRegex, LeavesExcludedBoundsOut) {
  Automaton numerals = Numerals(IntegerRegex({At(0, true), At(3, true)}));
  EXPECT_FALSE(numerals.Accepts("0"));
  EXPECT_TRUE(numerals.Accepts("1"));
  EXPECT_TRUE(numerals.Accepts("2"));
  EXPECT_FALSE(numerals.Accepts("3"));
  EXPECT_EQ(*IntegerRegex({At(3), At(2)}), "");
}

TEST(NumberRegex, ReadsBackWithinItsBounds) {
  const std::pair<double, double> ranges[] = {{-0.3, 12.5}, {0, 1}, {0.25, 0.75}, {-90, 90}};
  for (auto [low, high] : ranges) {
    Automaton numerals = Numerals(NumberRegex({At(low), At(high)}));
    for (int i = -20000; i <= 20000; ++i) {
      std::string text =
          std::to_string(i / 200) + "." + std::to_string(100 + std::abs(i) % 100).substr(1);
      double value = std::strtod(text.c_str(), nullptr);
      EXPECT_EQ(numerals.Accepts(text), value >= low && value <= high) << text << " from " << low;
    }
  }
}

TEST(NumberRegex, WritesExponentsWithinTheBounds) {
  Automaton numerals = Numerals(NumberRegex({At(0, true), At(1500)}));
  for (const char* text : {"1e-06", "1.256e-6", "1.5e3", "2E2", "0.99"}) {
    EXPECT_TRUE(numerals.Accepts(text)) << text;
  }
  for (const char* text : {"0", "0.0", "1.6e3", "1e4", "-1e-6", "0e0"}) {
    EXPECT_FALSE(numerals.Accepts(text)) << text;
  }
}

TEST(NumberRegex, StaysWithinBoundsOfMoreDigitsThanAreRead) {
  Automaton numerals = Numerals(NumberRegex({At(-1e30), At(1e17, true)}));
  for (const char* text : {"9.9e16", "99999999999999000", "-1e30", "-9.99e29", "-5000000000"}) {
    EXPECT_TRUE(numerals.Accepts(text)) << text;
  }
  for (const char* text : {"1e17", "99999999999999999", "9.9999999999999999e16", "-1.01e30",
                           "-1e31", "100000000000000000", "8e18"}) {
    EXPECT_FALSE(numerals.Accepts(text)) << text;
  }
}

TEST(NumberRegex, SaysWhichBoundIsBeyondWhatIsWritten) {
  EXPECT_EQ(NumberRegex({At(1e30), {}}).status().code(), StatusCode::kUnsupported);
  EXPECT_TRUE(NumberRegex({{}, At(1e30)}).ok());
}

TEST(MultiplesOf, HoldsMultiplesOfWholeNumbersAndFractions) {
  for (double step : {1.0, 7.0, 2.5, 0.25, 0.1}) {
    Result<Automaton> multiples = MultiplesOf(*ToDecimal(Json(step)));
    ASSERT_TRUE(multiples.ok());
    for (int hundredths = 0; hundredths <= 3000; ++hundredths) {
      std::string text =
          std::to_string(hundredths / 100) + "." + std::to_string(100 + hundredths % 100).substr(1);
      bool is_multiple = hundredths % static_cast<int>(step * 100 + 0.5) == 0;
      EXPECT_EQ(multiples->Accepts(text), is_multiple) << text << " of " << step;
      EXPECT_EQ(multiples->Accepts("-" + text), is_multiple) << text << " of " << step;
    }
  }
  EXPECT_EQ(MultiplesOf(*ToDecimal(Json(1234567))).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace mlc
