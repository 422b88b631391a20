#include <cctype>

#include "base/utf8.h"
#include "jinja/lexer.h"

namespace mlc::jinja {

namespace {

// Reads a string literal without its quotes, as Python's "unicode-escape" does.
class Unescaper {
 public:
  explicit Unescaper(std::string_view body) : body_(body) {}

  Result<std::string> Run() {
    while (pos_ < body_.size()) {
      if (body_[pos_] != '\\') {
        out_.push_back(body_[pos_++]);
      } else {
        ++pos_;
        MLC_RETURN_IF_ERROR(Escape());
      }
    }
    return std::move(out_);
  }

 private:
  Status Escape() {
    static constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
    char c = body_[pos_++];  // a literal never ends in a single backslash
    if (c == '\n') return {};
    if (size_t i = kFrom.find(c); i != std::string_view::npos) {
      out_.push_back(kTo[i]);
      return {};
    }
    if (c == 'x') return Hex(2);
    if (c == 'u') return Hex(4);
    if (c == 'U') return Hex(8);
    if (c == 'N') return InvalidArgument("\\N{...} escapes are not supported");
    if (c >= '0' && c <= '7') return Octal();
    out_.push_back('\\');
    out_.push_back(c);
    return {};
  }

  Status Hex(int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i, ++pos_) {
      if (pos_ >= body_.size() || !std::isxdigit(static_cast<unsigned char>(body_[pos_])))
        return InvalidArgument("truncated \\x, \\u or \\U escape in a string");
      char c = static_cast<char>(std::tolower(static_cast<unsigned char>(body_[pos_])));
      value = value * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (value > 0x10FFFF) return InvalidArgument("illegal Unicode character in a string");
    AppendUtf8(value, &out_);
    return {};
  }

  Status Octal() {
    char32_t value = 0;
    --pos_;
    for (int i = 0; i < 3 && pos_ < body_.size() && body_[pos_] >= '0' && body_[pos_] <= '7'; ++i)
      value = value * 8 + (body_[pos_++] - '0');
    AppendUtf8(value, &out_);
    return {};
  }

  std::string_view body_;
  size_t pos_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> UnescapeLiteral(std::string_view body) { return Unescaper(body).Run(); }

}  // namespace mlc::jinja
