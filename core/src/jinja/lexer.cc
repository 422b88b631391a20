#include "jinja/lexer.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/utf8.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

std::string NormalizeNewlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    out.push_back(source[i] == '\r' ? '\n' : source[i]);
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : text_(NormalizeNewlines(source)) {}

  Result<std::vector<Token>> Run() {
    while (pos_ < text_.size()) {
      size_t tag = FindTag();
      if (tag == std::string::npos) {
        Emit(TokenType::kData, text_.substr(pos_));
        line_ += CountLines(pos_, text_.size());
        break;
      }
      MLC_RETURN_IF_ERROR(Tag(tag));
    }
    Emit(TokenType::kEof, "");
    return std::move(tokens_);
  }

 private:
  size_t FindTag() const {
    for (size_t i = pos_; i + 1 < text_.size(); ++i) {
      if (text_[i] == '{' && (text_[i + 1] == '{' || text_[i + 1] == '%' || text_[i + 1] == '#'))
        return i;
    }
    return std::string::npos;
  }

  Status Tag(size_t tag) {
    char kind = text_[tag + 1];
    char sign = SignAt(tag + 2);
    EmitData(pos_, tag, sign, kind != '{');
    pos_ = tag + 2 + (sign ? 1 : 0);
    line_starting_ = false;
    if (kind == '#') return Comment();
    if (kind == '%' && SkipRawBegin()) return Raw();
    Emit(kind == '%' ? TokenType::kBlockBegin : TokenType::kVariableBegin, "");
    return Inside(kind == '%');
  }

  char SignAt(size_t i) const {
    return i < text_.size() && (text_[i] == '-' || text_[i] == '+') ? text_[i] : '\0';
  }

  // Emits the text before a tag. A '-' strips it. lstrip_blocks strips the blanks of a line that
  // contains only the tag.
  void EmitData(size_t begin, size_t end, char sign, bool lstrip) {
    std::string_view data = std::string_view(text_).substr(begin, end - begin);
    if (sign == '-') {
      data = StripRight(data);
    } else if (sign != '+' && lstrip) {
      size_t newline = data.rfind('\n');
      size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
      bool at_line_start = line_begin > 0 || line_starting_;
      if (at_line_start && StripLeft(data.substr(line_begin)).empty())
        data = data.substr(0, line_begin);
    }
    Emit(TokenType::kData, std::string(data));
    line_ += CountLines(begin, end);
  }

  // Moves behind a tag's end ("%}", "-%}", "+%}") if there is one at pos_. Trims the text that
  // follows.
  bool SkipEnd(std::string_view close, bool allow_plus, bool trim_newline) {
    char sign = SignAt(pos_);
    if (sign == '+' && !allow_plus) return false;
    size_t at = pos_ + (sign ? 1 : 0);
    if (text_.compare(at, close.size(), close) != 0) return false;
    size_t end = at + close.size();
    if (sign == '-') {
      end = text_.size() - StripLeft(std::string_view(text_).substr(end)).size();
    } else if (sign == '\0' && trim_newline && end < text_.size() && text_[end] == '\n') {
      ++end;
    }
    Advance(end);
    return true;
  }

  void Advance(size_t end) {
    line_ += CountLines(pos_, end);
    line_starting_ = end > pos_ && text_[end - 1] == '\n';
    pos_ = end;
  }

  Status Comment() {
    int begin_line = line_;
    while (pos_ < text_.size()) {
      if (SkipEnd("#}", true, true)) return {};
      Advance(pos_ + 1);
    }
    return TemplateError(begin_line, "missing end of comment tag");
  }

  bool SkipRawBegin() {
    size_t saved = pos_;
    int saved_line = line_;
    SkipSpace();
    if (text_.compare(pos_, 3, "raw") == 0) {
      pos_ += 3;
      SkipSpace();
      if (SkipEnd("%}", false, false)) return true;
    }
    pos_ = saved;
    line_ = saved_line;
    return false;
  }

  Status Raw() {
    size_t begin = pos_;
    int begin_line = line_;
    bool starting = line_starting_;
    for (size_t tag = text_.find("{%", pos_); tag != std::string::npos;
         tag = text_.find("{%", tag + 1)) {
      char sign = SignAt(tag + 2);
      pos_ = tag + 2 + (sign ? 1 : 0);
      SkipSpace();
      if (text_.compare(pos_, 6, "endraw") != 0) continue;
      pos_ += 6;
      SkipSpace();
      if (!SkipEnd("%}", true, true)) continue;
      bool ends_line = line_starting_;
      line_ = begin_line;
      line_starting_ = starting;
      EmitData(begin, tag, sign, true);
      line_ += CountLines(tag, pos_);
      line_starting_ = ends_line;
      return {};
    }
    return TemplateError(begin_line, "missing end of raw directive");
  }

  void SkipSpace() {
    Advance(text_.size() - StripLeft(std::string_view(text_).substr(pos_)).size());
  }

  Status Inside(bool block) {
    brackets_.clear();
    while (true) {
      if (brackets_.empty() && SkipEnd(block ? "%}" : "}}", block, block)) {
        // The skipped text may end in newlines, but the token belongs to the line of the tag.
        Emit(block ? TokenType::kBlockEnd : TokenType::kVariableEnd, "");
        return {};
      }
      if (pos_ >= text_.size()) return {};  // the parser reports the unexpected end
      size_t next = pos_;
      char32_t c = DecodeUtf8(text_, &next);
      if (IsSpace(c)) {
        SkipSpace();
        continue;
      }
      MLC_RETURN_IF_ERROR(OneToken(c));
    }
  }

  Status OneToken(char32_t c) {
    if (IsDigit(c)) return Number();
    if (IsWordChar(c)) return Name();
    if (c == '\'' || c == '"') return String(static_cast<char>(c));
    return Operator(c);
  }

  size_t Digits(size_t i) const {  // the end of (\d+_)*\d+ at i; i if there is none
    size_t end = i;
    while (end < text_.size() &&
           (IsDigit(text_[end]) ||
            (text_[end] == '_' && end > i && end + 1 < text_.size() && IsDigit(text_[end + 1]))))
      ++end;
    return end;
  }

  // The end of a float at pos_. Nothing if the digits are an integer.
  std::optional<size_t> FloatEnd() const {
    if (pos_ > 0 && text_[pos_ - 1] == '.') return std::nullopt;
    size_t whole = Digits(pos_), end = whole;
    if (end + 1 < text_.size() && text_[end] == '.' && IsDigit(text_[end + 1]))
      end = Digits(end + 1);
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      size_t exponent = end + 1 + (SignAt(end + 1) ? 1 : 0);
      if (size_t stop = Digits(exponent); stop > exponent) return stop;
    }
    if (end > whole) return end;
    return std::nullopt;
  }

  size_t IntegerEnd() const {
    static constexpr std::string_view kPrefixes = "bBoOxX";
    if (text_[pos_] == '0' && pos_ + 1 < text_.size() &&
        kPrefixes.find(text_[pos_ + 1]) != std::string_view::npos) {
      int base = std::tolower(text_[pos_ + 1]) == 'b'   ? 2
                 : std::tolower(text_[pos_ + 1]) == 'o' ? 8
                                                        : 16;
      size_t end = pos_ + 2;
      auto is_digit = [&](size_t i) {
        if (i >= text_.size()) return false;
        char c = static_cast<char>(std::tolower(static_cast<unsigned char>(text_[i])));
        int value = IsDigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
        return value < base;
      };
      while (is_digit(end) || (end < text_.size() && text_[end] == '_' && is_digit(end + 1))) ++end;
      if (end > pos_ + 2) return end;
    }
    if (text_[pos_] != '0') return Digits(pos_);
    size_t end = pos_ + 1;
    while (end < text_.size() &&
           (text_[end] == '0' ||
            (text_[end] == '_' && end + 1 < text_.size() && text_[end + 1] == '0')))
      ++end;
    return end;
  }

  Status Number() {
    std::optional<size_t> float_end = FloatEnd();
    size_t end = float_end ? *float_end : IntegerEnd();
    std::string body = text_.substr(pos_, end - pos_);
    Token token{float_end ? TokenType::kFloat : TokenType::kInteger, line_, body};
    if (float_end) {
      token.number = ParseFloat(body).value_or(0);
    } else {
      std::optional<int64_t> value = ParseInt(body, 0);
      if (!value) return TemplateError(line_, "integer " + body.substr(0, 40) + " is too large");
      token.integer = *value;
    }
    tokens_.push_back(std::move(token));
    pos_ = end;
    return {};
  }

  Status Name() {
    size_t end = pos_;
    while (end < text_.size()) {
      size_t next = end;
      if (!IsWordChar(DecodeUtf8(text_, &next))) break;
      end = next;
    }
    Emit(TokenType::kName, text_.substr(pos_, end - pos_));
    pos_ = end;
    return {};
  }

  Status String(char quote) {
    size_t end = pos_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size())
      return TemplateError(line_, std::string("unexpected char ") + ReprText({&quote, 1}));
    std::string_view body = std::string_view(text_).substr(pos_ + 1, end - pos_ - 1);
    Result<std::string> value = UnescapeLiteral(body);
    if (!value.ok()) return TemplateError(line_, value.status().message());
    Emit(TokenType::kString, std::move(*value));
    Advance(end + 1);
    return {};
  }

  Status Operator(char32_t c) {
    static constexpr std::string_view kDouble[] = {"//", "**", "==", "!=", ">=", "<="};
    static constexpr std::string_view kSingle = "+-/*%~[](){}><=.:|,;";
    std::string op = text_.substr(pos_, 2);
    if (std::find(std::begin(kDouble), std::end(kDouble), op) == std::end(kDouble)) {
      std::string one;
      AppendUtf8(c, &one);
      if (kSingle.find(one) == std::string_view::npos)
        return TemplateError(line_, "unexpected char " + ReprText(one));
      op = one;
    }
    MLC_RETURN_IF_ERROR(Balance(op[0]));
    Emit(TokenType::kOperator, op);
    pos_ += op.size();
    return {};
  }

  Status Balance(char c) {
    if (c == '{' || c == '(' || c == '[') {
      brackets_.push_back(c == '{' ? '}' : c == '(' ? ')' : ']');
    } else if (c == '}' || c == ')' || c == ']') {
      if (brackets_.empty()) return TemplateError(line_, std::string("unexpected '") + c + "'");
      if (brackets_.back() != c)
        return TemplateError(
            line_, std::string("unexpected '") + c + "', expected '" + brackets_.back() + "'");
      brackets_.pop_back();
    }
    return {};
  }

  void Emit(TokenType type, std::string text) {
    if (type == TokenType::kData && text.empty()) return;
    tokens_.push_back(Token{type, line_, std::move(text)});
  }

  int CountLines(size_t begin, size_t end) const {
    return static_cast<int>(std::count(text_.begin() + begin, text_.begin() + end, '\n'));
  }

  std::string text_;
  size_t pos_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  // the last match ended in a newline
  std::string brackets_;       // the closing brackets that must still come
  std::vector<Token> tokens_;
};

}  // namespace

std::string Token::Describe() const {
  switch (type) {
    case TokenType::kData:
      return "template text";
    case TokenType::kVariableBegin:
      return "'{{'";
    case TokenType::kVariableEnd:
      return "'}}'";
    case TokenType::kBlockBegin:
      return "'{%'";
    case TokenType::kBlockEnd:
      return "'%}'";
    case TokenType::kString:
      return "a string";
    case TokenType::kEof:
      return "the end of the template";
    default:
      return "'" + text + "'";
  }
}

Status TemplateError(int line, const std::string& message) {
  return InvalidArgument("chat template, line " + std::to_string(line) + ": " + message);
}

Result<std::vector<Token>> Tokenize(std::string_view source) { return Lexer(source).Run(); }

}  // namespace mlc::jinja
