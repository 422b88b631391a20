// String methods that test or change single characters: case, classification, padding.
#include <algorithm>

#include "base/utf8.h"
#include "jinja/string_methods.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

std::string SwapCase(std::string_view text) {
  std::string out;
  for (size_t pos = 0; pos < text.size();) {
    char32_t c = DecodeUtf8(text, &pos);
    AppendUtf8(ToUpper(c) != c ? ToUpper(c) : ToLower(c), &out);
  }
  return out;
}

bool IsCased(char32_t c) { return ToUpper(c) != c || ToLower(c) != c || c == 0xDF; }

std::string Title(std::string_view text) {
  std::string out;
  bool in_word = false;
  for (size_t pos = 0; pos < text.size();) {
    char32_t c = DecodeUtf8(text, &pos);
    AppendUtf8(in_word ? ToLower(c) : ToUpper(c), &out);
    in_word = IsCased(c);
  }
  return out;
}

bool Classify(const std::string& name, char32_t c) {
  if (name == "isalpha") return IsAlpha(c);
  if (name == "isalnum") return IsAlpha(c) || IsDigit(c);
  if (name == "isspace") return IsSpace(c);
  if (name == "isprintable") return IsPrintable(c) || c == ' ';
  if (name == "isascii") return c < 0x80;
  return IsDigit(c);  // isdigit, isdecimal, isnumeric
}

}  // namespace

Result<Value> ChangeCase(const StringCall& call) {
  if (call.name == "upper") return call.Make(Upper(call.text()));
  if (call.name == "capitalize") return call.Make(Capitalize(call.text()));
  if (call.name == "title") return call.Make(Title(call.text()));
  if (call.name == "swapcase") return call.Make(SwapCase(call.text()));
  return call.Make(Lower(call.text()));
}

Result<Value> IsEvery(const StringCall& call) {
  const std::string& text = call.text();
  if (text.empty()) return Value(call.name == "isascii" || call.name == "isprintable");
  for (size_t pos = 0; pos < text.size();) {
    if (!Classify(call.name, DecodeUtf8(text, &pos))) return Value(false);
  }
  return Value(true);
}

Result<Value> IsCase(const StringCall& call) {
  const std::string& text = call.text();
  bool cased = false, in_word = false;
  for (size_t pos = 0; pos < text.size();) {
    char32_t c = DecodeUtf8(text, &pos);
    bool upper = ToLower(c) != c, lower = IsCased(c) && !upper;
    if (call.name == "istitle" ? (in_word ? upper : lower) : call.name == "isupper" ? lower : upper)
      return Value(false);
    in_word = upper || lower;
    cased = cased || in_word;
  }
  return Value(cased);
}

Result<Value> IsIdentifier(const StringCall& call) {
  const std::string& text = call.text();
  for (size_t pos = 0; pos < text.size();) {
    if (!IsWordChar(DecodeUtf8(text, &pos))) return Value(false);
  }
  return Value(!text.empty() && !IsDigit(text[0]));
}

Result<Value> Pad(const StringCall& call) {
  MLC_ASSIGN_OR_RETURN(int64_t width, call.arguments.Int(0, 0));
  MLC_ASSIGN_OR_RETURN(std::string fill, call.arguments.String(1, " "));
  if (CountCodePoints(fill) != 1) return InvalidArgument("the fill must be one character");
  int64_t length = static_cast<int64_t>(call.self.text().length);
  if (width > static_cast<int64_t>(kMaxTextBytes / 4))
    return InvalidArgument("a string is too long");
  int64_t total = std::max<int64_t>(width - length, 0), left = 0;
  if (call.name == "rjust") left = total;
  if (call.name == "center") left = total / 2 + (total & width & 1);  // rounding as in CPython
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += call.text();
  for (int64_t i = left; i < total; ++i) out += fill;
  return call.Make(out);
}

Result<Value> ZeroFill(const StringCall& call) {
  MLC_ASSIGN_OR_RETURN(int64_t width, call.arguments.Int(0, 0));
  if (width > static_cast<int64_t>(kMaxTextBytes)) return InvalidArgument("a string is too long");
  std::string out = call.text();
  int64_t missing = width - static_cast<int64_t>(call.self.text().length);
  bool sign = !out.empty() && (out[0] == '-' || out[0] == '+');
  if (missing > 0) out.insert(sign ? 1 : 0, std::string(missing, '0'));
  return call.Make(out);
}

Result<Value> ExpandTabs(const StringCall& call) {
  MLC_ASSIGN_OR_RETURN(int64_t size, call.arguments.Int(0, 8));
  if (size > 1000) return InvalidArgument("the tab size is too large");
  std::string out;
  int64_t column = 0;
  for (char c : call.text()) {
    if (c == '\t') {
      int64_t spaces = size > 0 ? size - column % size : 0;
      out.append(spaces, ' ');
      column += spaces;
    } else {
      out.push_back(c);
      column = c == '\n' || c == '\r' ? 0 : column + ((c & 0xC0) != 0x80 ? 1 : 0);
    }
    if (out.size() > kMaxTextBytes) return InvalidArgument("a string is too long");
  }
  return call.Make(out);
}

}  // namespace mlc::jinja
