// Escapes, properties and bracketed classes.
#include "text/regex/regex_parser.h"

namespace mlc {

using Assert = RegexNode::Assert;

namespace {

// \w in a class: there, Oniguruma leaves out ², ³, ¹, ¼, ½ and ¾.
CodePointRanges ClassWordRanges() {
  return IntersectRanges(OnigWordRanges(),
                         ComplementRanges({{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}}));
}

}  // namespace

Result<RegexNodePtr> RegexParser::ParseEscape() {
  if (AtEnd()) return Bad("trailing backslash");
  char32_t c = pattern_[pos_++];
  bool is_onig = c == 'A' || c == 'z' || c == 'Z' || c == 'R' || c == 'h' || c == 'H';
  if (is_ecma_ && is_onig) return NotOffered(std::string("\\") + static_cast<char>(c));
  switch (c) {
    case 'A':
      return MakeRegexAssert(Assert::kTextBegin);
    case 'z':
      return MakeRegexAssert(Assert::kTextEnd);
    case 'Z':
      return MakeRegexAssert(Assert::kTextEndOrNewline);
    case 'b':
      return MakeRegexAssert(Assert::kWordEdge);
    case 'B':
      return MakeRegexAssert(Assert::kNoWordEdge);
    case 'p':
    case 'P': {
      MLC_ASSIGN_OR_RETURN(CodePointRanges set, ParseProperty(c == 'P'));
      return SetNode(std::move(set));
    }
    case 'R': {
      RegexParser newline(R"((?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}]))");
      return newline.Parse();
    }
    default:
      break;
  }
  CodePointRanges set;
  if (ParseSetEscape(c, &set)) return SetNode(std::move(set));
  MLC_ASSIGN_OR_RETURN(char32_t literal, ParseCharEscape(c));
  return SetNode({{literal, literal}});
}

// \d \s \w \h and their complements.
bool RegexParser::ParseSetEscape(char32_t c, CodePointRanges* out) {
  if (is_ecma_) return ParseEcmaSetEscape(c, out);
  switch (c | 0x20) {
    case 'd':
      LookUpProperty("Nd", out);
      break;
    case 's':
      *out = WhiteSpaceRanges();
      break;
    case 'w':
      *out = OnigWordRanges();
      break;
    case 'h':
      *out = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
      break;
    default:
      return false;
  }
  if (c < 'a') *out = ComplementRanges(*out);
  return true;
}

// \d is ASCII in ECMAScript and Unicode in Python, and so on. A set that must match gets the
// narrower meaning; a set that must not match gets the wider one.
bool RegexParser::ParseEcmaSetEscape(char32_t c, CodePointRanges* out) const {
  bool is_complement = c < 'a', is_wide = is_complement != in_negated_class_;
  switch (c | 0x20) {
    case 'd':
      if (is_wide) LookUpProperty("Nd", out);
      if (!is_wide) *out = {{'0', '9'}};
      break;
    case 's':
      *out = {{9, 13}, {' ', ' '}};
      if (is_wide) {
        *out = WhiteSpaceRanges();
        out->insert(out->end(), {{0x1C, 0x1F}, {0xFEFF, 0xFEFF}});
        NormalizeRanges(out);
      }
      break;
    case 'w':
      *out = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
      if (is_wide) {  // Python's includes all kinds of numbers
        *out = OnigWordRanges();
        CodePointRanges numbers;
        LookUpProperty("N", &numbers);
        out->insert(out->end(), numbers.begin(), numbers.end());
        NormalizeRanges(out);
      }
      break;
    default:
      return false;
  }
  if (is_complement) *out = ComplementRanges(*out);
  return true;
}

Result<char32_t> RegexParser::ParseHex(int max_digits) {
  char32_t value = 0;
  int digits = 0;
  for (; digits < max_digits; ++digits, ++pos_) {
    char32_t c = Peek(), lower = c | 0x20;
    if (c >= '0' && c <= '9') {
      value = value * 16 + (c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      value = value * 16 + (lower - 'a' + 10);
    } else {
      break;
    }
  }
  if (digits == 0 || value > 0x10FFFF) return Bad("bad hexadecimal code point");
  return value;
}

Result<char32_t> RegexParser::ParseCharEscape(char32_t c) {
  switch (c) {
    case 't':
      return U'\t';
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 'f':
      return U'\f';
    case 'v':
      return U'\v';
    case 'a':
      if (is_ecma_) break;
      return U'\a';
    case 'e':
      if (is_ecma_) break;
      return U'\x1B';
    case 'u': {
      if (!is_ecma_ || !Eat('{')) return ParseHex(4);
      MLC_ASSIGN_OR_RETURN(char32_t value, ParseHex(6));
      if (!Eat('}')) return Bad("missing '}'");
      return value;
    }
    case 'x': {
      if (!Eat('{')) return ParseHex(2);
      MLC_ASSIGN_OR_RETURN(char32_t value, ParseHex(8));
      if (!Eat('}')) return Bad("missing '}'");
      return value;
    }
    default:
      break;
  }
  bool is_name = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (is_name) return NotOffered(std::string("\\") + static_cast<char>(c));
  return c;
}

Result<CodePointRanges> RegexParser::ParseProperty(bool negated) {
  std::string name;
  if (!Eat('{')) return Bad("\\p needs a name in braces");
  if (Eat('^')) negated = !negated;
  while (!AtEnd() && Peek() != '}' && Peek() < 0x80) name += static_cast<char>(pattern_[pos_++]);
  if (!Eat('}')) return Bad("missing '}'");
  CodePointRanges set;
  if (!LookUpProperty(name, &set)) return NotOffered("the character property \"" + name + "\"");
  return negated ? ComplementRanges(set) : set;
}

Result<CodePointRanges> RegexParser::ParsePosixClass() {
  static constexpr std::pair<std::string_view, std::string_view> kClasses[] = {
      {"digit", "Nd"}, {"upper", "Lu"}, {"lower", "Ll"}, {"cntrl", "Cc"}, {"punct", "P"}};
  bool negated = Eat('^');
  CodePointRanges set;
  for (const auto& [name, property] : kClasses) {
    if (!EatText(name)) continue;
    LookUpProperty(property, &set);
    if (name == "punct") {
      CodePointRanges symbols;
      LookUpProperty("S", &symbols);
      set.insert(set.end(), symbols.begin(), symbols.end());
      NormalizeRanges(&set);
    }
    break;
  }
  if (set.empty() && EatText("space")) set = WhiteSpaceRanges();
  if (set.empty() && EatText("word")) set = ClassWordRanges();
  if (set.empty() && EatText("xdigit")) ParseSetEscape('h', &set);
  if (set.empty() || !EatText(":]")) return NotOffered("this POSIX class");
  return negated ? ComplementRanges(set) : set;
}

// Called after '['. Closes the class under case before negating it.
Result<CodePointRanges> RegexParser::ParseClass(int depth) {
  if (depth > kMaxRegexDepth) return Bad("nested too deeply");
  bool negated = Eat('^');
  in_negated_class_ = negated && is_ecma_;
  CodePointRanges set, left;
  bool has_left = false;
  auto join = [&] {
    NormalizeRanges(&set);
    if (options_.ignore_case) CloseUnderCase(&set);
    left = has_left ? IntersectRanges(left, set) : set;
    has_left = true;
    set.clear();
  };
  for (bool first = !is_ecma_; first || Peek() != ']'; first = false) {
    if (AtEnd()) return Bad("missing ']'");
    if (!is_ecma_ && EatText("&&")) {
      join();
      if (Peek() == ']') break;
      continue;
    }
    MLC_RETURN_IF_ERROR(ParseClassItem(depth, &set));
  }
  ++pos_;
  in_negated_class_ = false;
  join();
  return negated ? ComplementRanges(left) : left;
}

// One character, range, escape, nested or POSIX class.
Status RegexParser::ParseClassItem(int depth, CodePointRanges* out) {
  auto add = [out](const CodePointRanges& more) {
    out->insert(out->end(), more.begin(), more.end());
    return Status();
  };
  auto one_char = [this]() -> Result<char32_t> {
    char32_t c = pattern_[pos_++];
    if (c != '\\') return c;
    if (AtEnd()) return Bad("trailing backslash");
    c = pattern_[pos_++];
    if (c == 'b') return U'\b';
    return ParseCharEscape(c);
  };
  if (Peek() == '[' && !is_ecma_) {
    bool posix = Peek(1) == ':';
    pos_ += posix ? 2 : 1;
    MLC_ASSIGN_OR_RETURN(CodePointRanges set, posix ? ParsePosixClass() : ParseClass(depth + 1));
    return add(set);
  }
  if (Peek() == '\\') {
    char32_t c = Peek(1);
    CodePointRanges set;
    if (c == 'p' || c == 'P') {
      pos_ += 2;
      MLC_ASSIGN_OR_RETURN(set, ParseProperty(c == 'P'));
      return add(set);
    }
    if (ParseSetEscape(c, &set)) {
      pos_ += 2;
      if (c == 'w' && !is_ecma_) set = ClassWordRanges();
      if (c == 'W' && !is_ecma_) set = ComplementRanges(ClassWordRanges());
      return add(set);
    }
  }
  MLC_ASSIGN_OR_RETURN(char32_t first, one_char());
  char32_t last = first;
  bool is_range = Peek() == '-' && Peek(1) != ']' && Peek(1) != 0 && (Peek(1) != '[' || is_ecma_);
  if (is_range) {
    ++pos_;
    MLC_ASSIGN_OR_RETURN(last, one_char());
    if (last < first) return Bad("range out of order");
  }
  out->emplace_back(first, last);
  return Status();
}

}  // namespace mlc
