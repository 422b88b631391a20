#include "jinja/format_spec.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"
#include "jinja/runtime.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

std::string Printf(const char* format, int64_t precision, double value) {
  char buffer[1024];
  int size = std::snprintf(buffer, sizeof(buffer), format, static_cast<int>(precision), value);
  return std::string(buffer, std::min<size_t>(size, sizeof(buffer) - 1));
}

// As 'g', but with at least one digit after the point. So the exponent form begins earlier.
std::string GeneralDigits(double size, int64_t precision) {
  std::string text = Printf("%.*e", precision - 1, size);
  int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent < -4 || exponent >= precision - 1) {
    size_t e = text.find('e'), end = e;
    if (text.find('.') != std::string::npos) {
      while (text[end - 1] == '0') --end;
      if (text[end - 1] == '.') --end;
    }
    return text.erase(end, e - end);
  }
  text = Printf("%.*g", precision, size);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string FloatDigits(double value, const FormatStyle& style) {
  int64_t precision = style.precision < 0 ? 6 : style.precision;
  double size = std::fabs(value);
  bool upper = style.type == 'E' || style.type == 'F' || style.type == 'G';
  std::string text;
  if (std::isnan(size) || std::isinf(size)) {
    text = std::isnan(size) ? "nan" : "inf";
    return (upper ? Upper(text) : text) + (style.type == '%' ? "%" : "");
  }
  switch (style.type) {
    case 'e':
    case 'E':
      text = Printf("%.*e", precision, size);
      break;
    case 'f':
    case 'F':
      text = Printf("%.*f", precision, size);
      break;
    case '%':
      return Printf("%.*f", precision, size * 100) + "%";
    case 'g':
    case 'G':
      text = Printf(style.alternate ? "%#.*g" : "%.*g", precision, size);
      break;
    default:
      if (style.precision < 0) return ReprFloat(size);
      text = GeneralDigits(size, std::max<int64_t>(precision, 1));
  }
  return upper ? Upper(text) : text;
}

std::string IntegerDigits(uint64_t value, char type) {
  int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  const char* digits = type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  do {
    out.insert(out.begin(), digits[value % base]);
    value /= base;
  } while (value > 0);
  return out;
}

std::string Group(const std::string& digits, const FormatStyle& style) {
  if (style.grouping == '\0') return digits;
  size_t step =
      style.type == 'x' || style.type == 'X' || style.type == 'o' || style.type == 'b' ? 4 : 3;
  size_t whole = 0;
  while (whole < digits.size() && std::isalnum(static_cast<unsigned char>(digits[whole])) &&
         !(step == 3 && digits[whole] == 'e'))
    ++whole;
  std::string out = digits.substr(whole);
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && i % step == 0) out.insert(out.begin(), style.grouping);
    out.insert(out.begin(), digits[whole - 1 - i]);
  }
  return out;
}

std::string Repeated(const std::string& unit, int64_t count) {
  std::string out;
  for (int64_t i = 0; i < count; ++i) out += unit;
  return out;
}

}  // namespace

std::string AlignText(const std::string& sign, const std::string& body, const FormatStyle& style,
                      char default_align) {
  int64_t size = static_cast<int64_t>(CountCodePoints(sign) + CountCodePoints(body));
  int64_t missing = std::max<int64_t>(style.width - size, 0);
  char align = style.align ? style.align : default_align;
  if (align == '=') return sign + Repeated(style.fill, missing) + body;
  int64_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  return Repeated(style.fill, left) + sign + body + Repeated(style.fill, missing - left);
}

std::string SignText(bool negative, const FormatStyle& style) {
  if (negative) return "-";
  return style.sign == '-' ? "" : std::string(1, style.sign);
}

std::string FormatFloat(double value, const FormatStyle& style) {
  return AlignText(SignText(std::signbit(value) && !std::isnan(value), style),
                   Group(FloatDigits(value, style), style), style, '>');
}

std::string FormatInteger(int64_t value, const FormatStyle& style) {
  uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string prefix;
  if (style.alternate && style.type != 'd' && style.type != '\0' && style.type != 'n')
    prefix = std::string("0") + style.type;
  return AlignText(SignText(value < 0, style) + prefix,
                   Group(IntegerDigits(size, style.type), style), style, '>');
}

std::string FormatText(const std::string& text, const FormatStyle& style) {
  std::string shown = text;
  if (style.precision >= 0) {
    size_t end = 0;
    for (int64_t i = 0; i < style.precision && end < text.size(); ++i) DecodeUtf8(text, &end);
    shown.resize(end);
  }
  return AlignText("", shown, style, '<');
}

std::optional<int64_t> ReadNumber(const std::string& text, size_t* pos) {
  size_t begin = *pos;
  int64_t number = 0;
  for (; *pos < text.size() && IsDigit(text[*pos]); ++*pos)
    number = std::min<int64_t>(number * 10 + (text[*pos] - '0'), kMaxFormatWidth + 1);
  return *pos > begin ? std::optional<int64_t>(number) : std::nullopt;
}

namespace {

// [[fill]align][sign][#][0][width][grouping][.precision][type]
Result<FormatStyle> ParseSpec(const std::string& text) {
  FormatStyle style;
  size_t pos = 0;
  auto at = [&](size_t i) { return i < text.size() ? text[i] : '\0'; };
  size_t after_fill = 0;
  bool has_fill = false;
  if (!text.empty()) DecodeUtf8(text, &after_fill);
  if (after_fill > 0 && IsOneOf(at(after_fill), "<>^=")) {
    style.fill = text.substr(0, after_fill);
    has_fill = true;
    style.align = text[after_fill];
    pos = after_fill + 1;
  } else if (IsOneOf(at(0), "<>^=")) {
    style.align = text[pos++];
  }
  if (IsOneOf(at(pos), "+- ")) style.sign = text[pos++];
  if (at(pos) == '#') style.alternate = text[pos++] == '#';
  if (at(pos) == '0') {
    if (style.align == '\0') style.align = '=';
    if (!has_fill) style.fill = "0";
    ++pos;
  }
  style.width = ReadNumber(text, &pos).value_or(0);
  if (IsOneOf(at(pos), ",_")) style.grouping = text[pos++];
  if (at(pos) == '.') {
    ++pos;
    std::optional<int64_t> precision = ReadNumber(text, &pos);
    if (!precision) return InvalidArgument("format specifier misses the precision");
    style.precision = *precision;
  }
  if (pos < text.size()) style.type = text[pos++];
  if (pos < text.size()) return InvalidArgument("invalid format specifier");
  if (style.width > kMaxFormatWidth || style.precision > kMaxFormatWidth)
    return InvalidArgument("too large a width or precision in a format specifier");
  return style;
}

Result<std::string> FormatCodePoint(int64_t value, const FormatStyle& style) {
  if (value < 0 || value > 0x10FFFF) return InvalidArgument("%c arg not in range(0x110000)");
  std::string text;
  AppendUtf8(static_cast<char32_t>(value), &text);
  return AlignText("", text, style, '<');
}

}  // namespace

Result<std::string> FormatSpec(const Value& value, const std::string& text) {
  if (text.empty()) return ToText(value);
  MLC_ASSIGN_OR_RETURN(FormatStyle style, ParseSpec(text));
  std::string wrong = std::string("unknown format code '") + style.type + "' for object of type '" +
                      TypeName(value) + "'";
  if (value.is_string()) {
    bool numeric = style.align == '=' || style.sign != '-' || style.alternate || style.grouping;
    if (!IsOneOf(style.type, "s") && style.type != '\0') return InvalidArgument(wrong);
    if (numeric) return InvalidArgument("a numeric format specifier for a string");
    return FormatText(value.as_string(), style);
  }
  if (!value.is_number())
    return InvalidArgument(std::string("unsupported format string for ") + TypeName(value));
  if (value.is_int() && style.type == 'c') return FormatCodePoint(value.as_int(), style);
  if (value.is_int() && (style.type == '\0' || IsOneOf(style.type, "dxXobn"))) {
    if (style.precision >= 0) return InvalidArgument("precision not allowed in an integer format");
    return FormatInteger(value.as_int(), style);
  }
  if (style.type != '\0' && !IsOneOf(style.type, "eEfFgGn%")) return InvalidArgument(wrong);
  if (style.precision > kMaxFormatPrecision)
    return InvalidArgument("too large a precision for a number");
  return FormatFloat(value.as_double(), style);
}

}  // namespace mlc::jinja
