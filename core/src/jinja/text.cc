#include "jinja/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/float_text.h"
#include "base/utf8.h"

namespace mlc::jinja {

namespace {

bool In(char32_t c, char32_t low, char32_t high) { return c >= low && c <= high; }

// Latin Extended-A alternates upper and lower case, in three runs. In these two runs the even code
// points are upper case.
bool EvenUpperRun(char32_t c) { return In(c, 0x100, 0x137) || In(c, 0x14A, 0x177); }
bool OddUpperRun(char32_t c) { return In(c, 0x139, 0x148) || In(c, 0x179, 0x17E); }

std::string Map(std::string_view text, char32_t (*map)(char32_t)) {
  std::string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) AppendUtf8(map(DecodeUtf8(text, &pos)), &out);
  return out;
}

bool IsLineBreak(char32_t c) {
  return In(c, '\n', '\r') || In(c, 0x1C, 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool Strippable(char32_t c, const std::u32string* chars) {
  return chars ? chars->find(c) != std::u32string::npos : IsSpace(c);
}

void AppendHexEscape(char32_t c, std::string* out) {
  const char* format = c <= 0xFF ? "\\x%02x" : c <= 0xFFFF ? "\\u%04x" : "\\U%08x";
  char buffer[12];
  std::snprintf(buffer, sizeof(buffer), format, static_cast<unsigned>(c));
  *out += buffer;
}

void AppendReprChar(char32_t c, char quote, std::string* out) {
  if (c == static_cast<char32_t>(quote) || c == '\\') {
    out->push_back('\\');
    out->push_back(static_cast<char>(c));
  } else if (c == '\n') {
    *out += "\\n";
  } else if (c == '\r') {
    *out += "\\r";
  } else if (c == '\t') {
    *out += "\\t";
  } else if (!IsPrintable(c)) {
    AppendHexEscape(c, out);
  } else {
    AppendUtf8(c, out);
  }
}

// Removes the '_' of a Python number. Nothing if a '_' is not between two digits.
std::optional<std::string> WithoutUnderscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out.push_back(text[i]);
      continue;
    }
    bool between = i > 0 && i + 1 < text.size() && std::isalnum((unsigned char)text[i - 1]) &&
                   std::isalnum((unsigned char)text[i + 1]);
    if (!between) return std::nullopt;
  }
  return out;
}

std::string_view Trim(std::string_view text) { return StripLeft(StripRight(text)); }

}  // namespace

bool IsSpace(char32_t c) {
  return In(c, '\t', '\r') || In(c, 0x1C, ' ') || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         In(c, 0x2000, 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool IsDigit(char32_t c) { return In(c, '0', '9'); }

bool IsAlpha(char32_t c) {
  if (c < 0x80) return In(c, 'a', 'z') || In(c, 'A', 'Z');
  if (c < 0x100)
    return c == 0xAA || c == 0xB5 || c == 0xBA || (c >= 0xC0 && c != 0xD7 && c != 0xF7);
  if (!IsPrintable(c) || In(c, 0x2000, 0x2BFF) || In(c, 0x3000, 0x3004)) return false;
  if (In(c, 0x3007, 0x3030) || In(c, 0xFE00, 0xFE6F) || In(c, 0xFF00, 0xFF20)) return false;
  return !In(c, 0x1F000, 0x1FAFF) && !In(c, 0x300, 0x36F);
}

bool IsPrintable(char32_t c) {
  if (c < 0x20 || In(c, 0x7F, 0xA0) || c == 0xAD) return false;
  if (c > 0x7F && IsSpace(c)) return false;
  if (In(c, 0x600, 0x605) || c == 0x61C || c == 0x6DD || c == 0x70F || c == 0x180E) return false;
  if (In(c, 0x200B, 0x200F) || In(c, 0x202A, 0x202E) || In(c, 0x2060, 0x206F)) return false;
  if (c == 0xFEFF || In(c, 0xD800, 0xF8FF) || In(c, 0xFFF0, 0xFFFB)) return false;
  return c < 0xE0000 && (c & 0xFFFE) != 0xFFFE;
}

char32_t ToLower(char32_t c) {
  if (c < 0x80) return In(c, 'A', 'Z') ? c + 32 : c;
  if (In(c, 0xC0, 0xDE) && c != 0xD7) return c + 32;
  if ((EvenUpperRun(c) && c != 0x130 && c != 0x131 && c % 2 == 0) || (OddUpperRun(c) && c % 2 == 1))
    return c + 1;
  if (c == 0x178) return 0xFF;
  if (In(c, 0x391, 0x3AB) && c != 0x3A2) return c + 32;
  if (c == 0x386) return 0x3AC;
  if (In(c, 0x388, 0x38A)) return c + 37;
  if (c == 0x38C) return 0x3CC;
  if (c == 0x38E || c == 0x38F) return c + 63;
  if (In(c, 0x410, 0x42F)) return c + 32;
  return In(c, 0x400, 0x40F) ? c + 80 : c;
}

char32_t ToUpper(char32_t c) {
  if (c < 0x80) return In(c, 'a', 'z') ? c - 32 : c;
  if (c == 0xB5) return 0x39C;
  if (In(c, 0xE0, 0xFE) && c != 0xF7) return c - 32;
  if (c == 0xFF) return 0x178;
  if (c == 0x131) return 'I';
  if (c == 0x17F) return 'S';
  if ((EvenUpperRun(c) && c % 2 == 1 && c != 0x131) || (OddUpperRun(c) && c % 2 == 0)) return c - 1;
  if (c == 0x3C2) return 0x3A3;
  if (In(c, 0x3B1, 0x3CB)) return c - 32;
  if (c == 0x3AC) return 0x386;
  if (In(c, 0x3AD, 0x3AF)) return c - 37;
  if (c == 0x3CC) return 0x38C;
  if (c == 0x3CD || c == 0x3CE) return c - 63;
  if (In(c, 0x430, 0x44F)) return c - 32;
  return In(c, 0x450, 0x45F) ? c - 80 : c;
}

std::string Lower(std::string_view text) { return Map(text, ToLower); }

std::string Upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) {
    char32_t c = DecodeUtf8(text, &pos);
    if (c == 0xDF) {
      out += "SS";
    } else {
      AppendUtf8(ToUpper(c), &out);
    }
  }
  return out;
}

std::string Capitalize(std::string_view text) {
  if (text.empty()) return "";
  size_t pos = 0;
  char32_t first = DecodeUtf8(text, &pos);
  std::string out = first == 0xDF ? "Ss" : "";
  if (out.empty()) AppendUtf8(ToUpper(first), &out);
  return out + Lower(text.substr(pos));
}

size_t CountCodePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

std::string_view StripLeft(std::string_view text, const std::u32string* chars) {
  size_t begin = 0;
  while (begin < text.size()) {
    size_t next = begin;
    if (!Strippable(DecodeUtf8(text, &next), chars)) break;
    begin = next;
  }
  return text.substr(begin);
}

std::string_view StripRight(std::string_view text, const std::u32string* chars) {
  size_t end = text.size();
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && (text[begin] & 0xC0) == 0x80) --begin;
    size_t pos = begin;
    if (!Strippable(DecodeUtf8(text, &pos), chars)) break;
    end = begin;
  }
  return text.substr(0, end);
}

std::vector<std::string_view> SplitLines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t pos = 0; pos < text.size();) {
    size_t line_end = pos;
    char32_t c = DecodeUtf8(text, &pos);
    if (!IsLineBreak(c)) continue;
    if (c == '\r' && pos < text.size() && text[pos] == '\n') ++pos;
    lines.push_back(text.substr(start, (keep_ends ? pos : line_end) - start));
    start = pos;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

namespace {

std::optional<std::string> Interleave(std::string_view text, std::string_view to, int64_t count,
                                      size_t max_bytes) {
  std::string out;
  for (size_t pos = 0;;) {
    if (count-- != 0) out += to;
    if (out.size() > max_bytes) return std::nullopt;
    if (pos >= text.size()) return out;
    size_t begin = pos;
    DecodeUtf8(text, &pos);
    out += text.substr(begin, pos - begin);
    if (count < 0) count = -1;
    if (count == 0) return out + std::string(text.substr(pos));
  }
}

}  // namespace

std::optional<std::string> ReplaceText(std::string_view text, std::string_view from,
                                       std::string_view to, int64_t count, size_t max_bytes) {
  if (count == 0) return std::string(text);
  if (from.empty()) return Interleave(text, to, count, max_bytes);
  std::string out;
  size_t pos = 0;
  for (; count != 0; --count) {
    size_t found = text.find(from, pos);
    if (found == std::string_view::npos) break;
    out += text.substr(pos, found - pos);
    out += to;
    if (out.size() > max_bytes) return std::nullopt;
    pos = found + from.size();
    if (count < 0) count = 0;  // stays negative: all occurrences
  }
  return out += text.substr(pos);
}

std::string ReprText(std::string_view text) {
  bool has_single = text.find('\'') != std::string_view::npos;
  char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t pos = 0; pos < text.size();) AppendReprChar(DecodeUtf8(text, &pos), quote, &out);
  out.push_back(quote);
  return out;
}

std::string ReprFloat(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = FloatText(value, FloatFormat::kScientific);
  size_t e = text.find('e');
  int exponent = std::atoi(text.c_str() + e + 1);
  if (exponent < -4 || exponent >= 16) return text;
  std::string digits = text.substr(0, e);
  std::string sign = digits[0] == '-' ? "-" : "";
  digits.erase(
      std::remove_if(digits.begin(), digits.end(), [](char c) { return !std::isdigit(c); }),
      digits.end());
  if (exponent < 0) return sign + "0." + std::string(-exponent - 1, '0') + digits;
  size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::optional<double> ParseFloat(std::string_view text) {
  std::optional<std::string> clean = WithoutUnderscores(Trim(text));
  if (!clean || clean->empty()) return std::nullopt;
  std::string body = Lower(*clean);
  bool negative = body[0] == '-';
  if (negative || body[0] == '+') body.erase(0, 1);
  double value = 0;
  if (body == "inf" || body == "infinity") {
    value = INFINITY;
  } else if (body == "nan") {
    value = NAN;
  } else {
    if (body.empty() || !(IsDigit(body[0]) || body[0] == '.')) return std::nullopt;
    size_t size = 0;
    std::errc error = ReadFloat(body, &value, &size);
    if (size != body.size()) return std::nullopt;
    if (error == std::errc::result_out_of_range)
      value = std::strtod(body.c_str(), nullptr);
    else if (error != std::errc())
      return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<int64_t> ParseInt(std::string_view text, int base) {
  std::optional<std::string> clean = WithoutUnderscores(Trim(text));
  if (!clean || clean->empty()) return std::nullopt;
  std::string body = *clean;
  bool negative = body[0] == '-';
  if (negative || body[0] == '+') body.erase(0, 1);
  auto prefixed = [&](char letter) {
    return body.size() > 2 && body[0] == '0' && std::tolower((unsigned char)body[1]) == letter;
  };
  for (auto [letter, radix] : {std::pair{'x', 16}, {'o', 8}, {'b', 2}}) {
    if ((base == radix || base == 0) && prefixed(letter)) {
      base = radix;
      body.erase(0, 2);
      break;
    }
  }
  if (base == 0) base = 10;
  if (body.empty() || body[0] == '-' || base < 2 || base > 36) return std::nullopt;
  if (negative) body.insert(0, 1, '-');
  int64_t value = 0;
  auto end = std::from_chars(body.data(), body.data() + body.size(), value, base);
  if (end.ec != std::errc() || end.ptr != body.data() + body.size()) return std::nullopt;
  return value;
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

}  // namespace mlc::jinja
