#include "grammar/text/ebnf_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace mlc {
namespace {

void AppendEscaped(char32_t c, std::string* out) {
  bool is_name = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (is_name || c == ' ') {
    out->push_back(static_cast<char>(c));
    return;
  }
  bool is_short = c <= 0xFFFF;
  out->append(is_short ? "\\u" : "\\U");
  for (int shift = is_short ? 12 : 28; shift >= 0; shift -= 4) {
    out->push_back("0123456789ABCDEF"[(c >> shift) & 0xF]);
  }
}

}  // namespace

std::string EbnfLiteral(std::string_view text) {
  std::string out = "\"";
  for (size_t pos = 0; pos < text.size();) {
    char32_t c = DecodeUtf8(text, &pos);
    bool is_plain = c >= ' ' && c <= '~';
    if (c == '"' || c == '\\') out += '\\';
    if (is_plain) out += static_cast<char>(c);
    if (!is_plain) AppendEscaped(c, &out);
  }
  return out + "\"";
}

std::string EbnfClass(const CodePointRanges& set) {
  std::string out = "[";
  for (const auto& [first, last] : set) {
    AppendEscaped(first, &out);
    if (last == first) continue;
    out += '-';
    AppendEscaped(last, &out);
  }
  return out + "]";
}

const CodePointRanges& JsonStringRanges() {
  static const CodePointRanges ranges = {
      {0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7E}, {0x80, 0xD7FF}, {0xE000, 0x10FFFF}};
  return ranges;
}

std::string EbnfEscapes(const CodePointRanges& set) {
  constexpr std::pair<char32_t, char32_t> kEscapes[] = {
      {'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}};
  CodePointRanges letters;
  for (const auto& [c, letter] : kEscapes) {
    auto holds = [c = c](const auto& range) { return range.first <= c && c <= range.second; };
    if (std::any_of(set.begin(), set.end(), holds)) letters.emplace_back(letter, letter);
  }
  if (letters.empty()) return "";
  NormalizeRanges(&letters);
  return EbnfLiteral("\\") + " " + EbnfClass(letters);
}

std::string EbnfRepeat(int64_t min, int64_t max) {
  if (max < 0 && min == 0) return "*";
  if (max < 0 && min == 1) return "+";
  std::string out = "{" + std::to_string(min) + ",";
  if (max >= 0) out += std::to_string(max);
  return out + "}";
}

}  // namespace mlc
