#include "base/float_text.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace mlc {
namespace {

// Numbers of every size, and random bits.
std::vector<double> Numbers() {
  std::vector<double> numbers = {0.1,  1.0,  1.5, 100.0,         1e15,
                                 1e16, 1e-5, 0.3, 123456789.125, 5e-324};
  numbers.push_back(std::numeric_limits<double>::max());
  numbers.push_back(std::numeric_limits<double>::min());
  for (uint64_t i = 0; i < 2000; ++i) {
    uint64_t bits = (i + 1) * 0x9E3779B97F4A7C15u & 0x7FEFFFFFFFFFFFFFu;
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    numbers.push_back(value);
    numbers.push_back(static_cast<double>(i) / 7);
  }
  return numbers;
}

TEST(FloatText, BothWaysOfWritingAgree) {
  for (double value : Numbers()) {
    for (FloatFormat format : {FloatFormat::kScientific, FloatFormat::kFixed}) {
      EXPECT_EQ(FloatTextByPrecision(value, format), FloatText(value, format));
      EXPECT_EQ(FloatTextByPrecision(-value, format), FloatText(-value, format));
    }
  }
}

TEST(FloatText, BothWaysOfReadingAgree) {
  std::vector<std::string> texts = {"1",     "1.5x",  "1e5",    "1e",   "1e+", "1.e3", ".5",   ".",
                                    "1e999", "0e999", "1e-999", "12,5", "",    "0x10", "00.10"};
  for (double value : Numbers()) texts.push_back(FloatText(value, FloatFormat::kScientific));
  for (const std::string& text : texts) {
    double a = -1, b = -1;
    size_t a_size = 0, b_size = 0;
    std::errc a_error = ReadFloat(text, &a, &a_size),
              b_error = ReadFloatByStrtod(text, &b, &b_size);
    EXPECT_EQ(a_error, b_error) << text;
    EXPECT_EQ(a_size, b_size) << text;
    if (a_error == std::errc()) {
      EXPECT_EQ(a, b) << text;
    }
  }
}

}  // namespace
}  // namespace mlc
