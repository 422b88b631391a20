// The format mini-language: the specification in "{:>8.3f}", and the equivalent of "%8.3f".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mlc::jinja {

constexpr int64_t kMaxFormatWidth = 100'000;
constexpr int64_t kMaxFormatPrecision = 400;  // precision of numbers

struct FormatStyle {
  std::string fill = " ";
  char align = '\0';  // '<', '>', '^', '=' or none
  char sign = '-';    // '-', '+' or ' '
  bool alternate = false;
  char grouping = '\0';  // ',' or '_'
  int64_t width = 0;
  int64_t precision = -1;  // -1: not given
  char type = '\0';
};

std::string FormatFloat(double value, const FormatStyle& style);
std::string FormatInteger(int64_t value, const FormatStyle& style);
std::string FormatText(const std::string& text, const FormatStyle& style);
std::string SignText(bool negative, const FormatStyle& style);
// Pads the text to the width. `sign` (and a prefix such as "0x") stays before the zeros.
std::string AlignText(const std::string& sign, const std::string& body, const FormatStyle& style,
                      char default_align);

// Reads digits at *pos. Returns nothing if there are none, and kMaxFormatWidth + 1 if there are too
// many.
std::optional<int64_t> ReadNumber(const std::string& text, size_t* pos);

inline bool IsOneOf(char c, std::string_view set) {
  return c != '\0' && set.find(c) != std::string_view::npos;
}

}  // namespace mlc::jinja
