// Reads the text of a call up to its closing parenthesis, and writes it again as JSON. If the
// result is not JSON, the text was not a call.
#include <cctype>
#include <optional>

#include "base/utf8.h"
#include "chat/tools/call_readers.h"
#include "chat/tools/json_scanner.h"

namespace mlc {
namespace {

bool IsWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Turns the arguments of a call, KEY=VALUE and so on, into the members of a JSON object.
class PythonToJson {
 public:
  explicit PythonToJson(std::string_view text) : text_(text) {}

  // Returns "" if a key, string or word is not Python. Other errors show when the result is parsed.
  std::string Convert() {
    out_ = "{";
    while (at_ < text_.size()) {
      char c = text_[at_];
      bool is_good = IsJsonSpace(c) ? Sign(c) : wants_key_ ? Key() : Value(c);
      if (!is_good) return "";
    }
    DropComma();
    return out_ + "}";
  }

 private:
  // The name of an argument, which need not be a word of Python's: "user-id", "città".
  bool Key() {
    size_t end = text_.find_first_of("=,'\"()[]{}", at_);
    if (end == std::string_view::npos || text_[end] != '=' || end == at_) return false;
    std::string name(text_.substr(at_, end - at_));
    name.erase(name.find_last_not_of(" \n\t\r") + 1);
    out_ += Json(name).Dump() + ":";
    at_ = end + 1;
    wants_key_ = false;
    return true;
  }

  bool Value(char c) {
    return c == '\'' || c == '"' ? String(c) : IsWordPart(c) ? Word() : Sign(c);
  }

  // Brackets, commas, colons, signs of numbers and points. A tuple becomes an array.
  bool Sign(char c) {
    ++at_;
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') --depth_, DropComma();
    wants_key_ = wants_key_ || (c == ',' && depth_ == 0);
    out_.push_back(c == '(' ? '[' : c == ')' ? ']' : c);
    return depth_ >= 0;
  }

  // Python allows a comma behind the last value.
  void DropComma() {
    size_t last = out_.find_last_not_of(" \n\t\r");
    if (out_[last] == ',') out_.erase(last);
  }

  bool Word() {
    size_t begin = at_;
    while (at_ < text_.size() && IsWordPart(text_[at_])) ++at_;
    std::string word(text_.substr(begin, at_ - begin));
    if (word == "True" || word == "False" || word == "None") {
      out_ += word == "True" ? "true" : word == "False" ? "false" : "null";
    } else {
      out_ += word;  // a number, true, false or null; anything else is not JSON
    }
    return true;
  }

  bool String(char quote) {
    std::string value;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] != '\\') {
        value.push_back(text_[at_]);
      } else if (!Escape(&value)) {
        return false;
      }
    }
    out_ += Json(value).Dump();
    return at_++ < text_.size();
  }

  // Reads an escape from its backslash. Stops at its last character.
  bool Escape(std::string* value) {
    if (++at_ == text_.size()) return false;
    char c = text_[at_];
    if (c == 'u') return Unicode(4, value);
    if ((c == 'x' && Unicode(2, value)) || (c == 'U' && Unicode(8, value))) return true;
    constexpr std::string_view kNames = "ntrbf\\'\"", kValues = "\n\t\r\b\f\\'\"";
    size_t index = kNames.find(c);
    if (index == std::string_view::npos) value->push_back('\\');  // Python keeps this backslash too
    value->push_back(index == std::string_view::npos ? c : kValues[index]);
    return true;
  }

  bool Unicode(size_t num_digits, std::string* value) {
    std::optional<char32_t> unit = UnitAt(at_ + 1, num_digits);
    if (!unit || *unit > 0x10FFFF) return false;
    at_ += num_digits;
    if (*unit >= 0xD800 && *unit < 0xDC00) unit = WithSecondHalf(*unit);
    AppendUtf8(*unit, value);
    return true;
  }

  // What so many hexadecimal digits say.
  std::optional<char32_t> UnitAt(size_t at, size_t num_digits) const {
    if (at + num_digits > text_.size()) return std::nullopt;
    std::string digits(text_.substr(at, num_digits));
    if (digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
      return std::nullopt;
    return static_cast<char32_t>(std::stoul(digits, nullptr, 16));
  }

  // The character of a pair of halves, as JSON writes it: "\uD83D\uDE00". `first` alone if no
  // second half follows.
  char32_t WithSecondHalf(char32_t first) {
    if (text_.substr(at_ + 1, 2) != "\\u") return first;
    std::optional<char32_t> second = UnitAt(at_ + 3, 4);
    if (!second || *second < 0xDC00 || *second >= 0xE000) return first;
    at_ += 6;
    return 0x10000 + ((first - 0xD800) << 10) + (*second - 0xDC00);
  }

  std::string_view text_;
  size_t at_ = 0;
  int64_t depth_ = 0;
  bool wants_key_ = true;
  std::string out_;
};

class PythonCallReader : public CallReader {
 public:
  explicit PythonCallReader(const OfferedTools* offered) : CallReader(offered) {}

  State Put(char c) override {
    if (tool_ == nullptr) return Head(c);
    if (quote_ != '\0') {
      if (c == quote_ && !is_escaped_) quote_ = '\0';
      is_escaped_ = c == '\\' && !is_escaped_;
    } else if (c == '\'' || c == '"') {
      quote_ = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth_;
    } else if (c == ')' || c == ']' || c == '}') {
      if (depth_-- == 0) return c == ')' ? Close() : State::kFailed;
    }
    text_.push_back(c);
    return State::kMore;
  }

 private:
  State Head(char c) {
    constexpr size_t kLongestName = 64;
    if (c == '(') return SetName(std::exchange(text_, {})) ? State::kMore : State::kFailed;
    text_.push_back(c);
    bool is_name = IsWordPart(c) || c == '-' || c == '.';
    return is_name && text_.size() <= kLongestName ? State::kMore : State::kFailed;
  }

  State Close() {
    arguments_ = PythonToJson(text_).Convert();
    Result<Json> json = Json::Parse(arguments_);
    if (!json.ok()) return State::kFailed;
    arguments_ = json->Dump();
    has_begun_ = true;
    return State::kDone;
  }

  std::string text_;
  char quote_ = '\0';
  bool is_escaped_ = false;
  int64_t depth_ = 0;
};

}  // namespace

std::unique_ptr<CallReader> MakePythonCallReader(const OfferedTools* offered) {
  return std::make_unique<PythonCallReader>(offered);
}

}  // namespace mlc
