#include "base/float_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace mlc {
namespace {

constexpr int kMostDigits = 17;  // they give every double again

std::string Printed(const char* format, int precision, double value) {
  std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, format, precision, value)), '\0');
  std::snprintf(text.data(), text.size() + 1, format, precision, value);
  return text;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The number of characters of `text` that std::from_chars would read.
size_t FloatSize(std::string_view text) {
  size_t at = 0, digits = 0;
  for (; at < text.size() && IsDigit(text[at]); ++at) ++digits;
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && IsDigit(text[at]); ++at) ++digits;
  }
  if (digits == 0) return 0;
  size_t exponent = at + 1;
  if (at == text.size() || (text[at] != 'e' && text[at] != 'E')) return at;
  if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
  if (exponent == text.size() || !IsDigit(text[exponent])) return at;
  while (exponent < text.size() && IsDigit(text[exponent])) ++exponent;
  return exponent;
}

}  // namespace

std::string FloatTextByPrecision(double value, FloatFormat format) {
  int precision = 0;
  std::string text;
  for (; precision < kMostDigits; ++precision) {
    text = Printed("%.*e", precision, value);
    if (std::strtod(text.c_str(), nullptr) == value) break;
  }
  if (format == FloatFormat::kScientific) return text;
  int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  return Printed("%.*f", std::max(0, precision - exponent), value);
}

std::errc ReadFloatByStrtod(std::string_view text, double* value, size_t* size) {
  *size = FloatSize(text);
  if (*size == 0) return std::errc::invalid_argument;
  std::string number(text.substr(0, *size));
  double read = std::strtod(number.c_str(), nullptr);
  bool has_digit = number.find_first_of("123456789") < number.find_first_of("eE");
  if (std::isinf(read) || (read == 0 && has_digit)) return std::errc::result_out_of_range;
  *value = read;
  return std::errc();
}

#if defined(__cpp_lib_to_chars)

std::string FloatText(double value, FloatFormat format) {
  char buffer[512];  // the longest fixed text of a double has 325 characters and a sign
  auto style =
      format == FloatFormat::kFixed ? std::chars_format::fixed : std::chars_format::scientific;
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), value, style).ptr};
}

std::errc ReadFloat(std::string_view text, double* value, size_t* size) {
  auto end = std::from_chars(text.data(), text.data() + text.size(), *value);
  *size = static_cast<size_t>(end.ptr - text.data());
  return end.ec;
}

#else

std::string FloatText(double value, FloatFormat format) {
  return FloatTextByPrecision(value, format);
}

std::errc ReadFloat(std::string_view text, double* value, size_t* size) {
  return ReadFloatByStrtod(text, value, size);
}

#endif

}  // namespace mlc
