// Recursive descent over the pattern's code points. The depth of recursion is bounded.
#include <string>

#include "base/utf8.h"
#include "text/regex_ast.h"

namespace mlc {
namespace {

using Kind = RegexNode::Kind;
using Assert = RegexNode::Assert;

constexpr size_t kMaxPatternBytes = 1 << 16;
constexpr int kMaxRepeat = 1000;

struct Options {
  bool ignore_case = false, dot_all = false, extended = false;
};

class Parser {
 public:
  explicit Parser(std::string_view pattern) : pattern_(ToCodePoints(pattern)) {}

  Result<RegexNodePtr> Parse() {
    MLC_ASSIGN_OR_RETURN(RegexNodePtr node, ParseAlternatives(0));
    if (!AtEnd()) return Bad("unmatched ')'");
    return node;
  }

 private:
  bool AtEnd() const { return pos_ >= pattern_.size(); }
  char32_t Peek(size_t ahead = 0) const {
    return pos_ + ahead < pattern_.size() ? pattern_[pos_ + ahead] : 0;
  }
  bool Eat(char32_t c) {
    if (AtEnd() || Peek() != c) return false;
    ++pos_;
    return true;
  }
  bool EatText(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (pos_ + i >= pattern_.size() || Peek(i) != static_cast<char32_t>(text[i])) return false;
    }
    pos_ += text.size();
    return true;
  }
  Status Bad(const std::string& what) const {
    return InvalidArgument("regular expression, character " + std::to_string(pos_) + ": " + what);
  }
  Status NotOffered(const std::string& what) const {
    return Unsupported("regular expression, character " + std::to_string(pos_) + ": " + what +
                       " is not supported");
  }

  Result<RegexNodePtr> ParseAlternatives(int depth);
  Result<RegexNodePtr> ParseSequence(int depth);
  Result<RegexNodePtr> ParseAtom(int depth);
  Result<RegexNodePtr> ParseQuantifiers(RegexNodePtr atom);
  Result<RegexNodePtr> ParseGroup(int depth);
  Result<RegexNodePtr> ParseOptionGroup(int depth);
  Result<RegexNodePtr> ParseEscape();
  Result<RegexNodePtr> FinishGroup(RegexNodePtr outer, int depth);
  Result<CodePointRanges> ParseClass(int depth);
  Status ParseClassItem(int depth, CodePointRanges* out);
  Result<CodePointRanges> ParsePosixClass();
  Result<CodePointRanges> ParseProperty(bool negated);
  bool ParseSetEscape(char32_t c, CodePointRanges* out);
  Result<char32_t> ParseCharEscape(char32_t c);
  Result<char32_t> ParseHex(int max_digits);
  bool ParseInterval(int* min, int* max);
  void SkipExtendedSpace();
  RegexNodePtr SetNode(CodePointRanges set) const {
    if (options_.ignore_case) CloseUnderCase(&set);
    return MakeRegexSet(std::move(set));
  }

  std::u32string pattern_;
  size_t pos_ = 0;
  Options options_;
};

RegexNodePtr AssertNode(Assert assertion) {
  RegexNodePtr node = MakeRegexNode(Kind::kAssert);
  node->assertion = assertion;
  return node;
}

Result<RegexNodePtr> Parser::ParseAlternatives(int depth) {
  if (depth > kMaxRegexDepth) return Bad("nested too deeply");
  Options outer = options_;  // an inline (?i) ends with its group
  RegexNodePtr node = MakeRegexNode(Kind::kAlternatives);
  do {
    MLC_ASSIGN_OR_RETURN(RegexNodePtr sequence, ParseSequence(depth));
    node->children.push_back(std::move(sequence));
  } while (Eat('|'));
  options_ = outer;
  if (node->children.size() == 1) return std::move(node->children[0]);
  return node;
}

Result<RegexNodePtr> Parser::ParseSequence(int depth) {
  RegexNodePtr node = MakeRegexNode(Kind::kSequence);
  for (;;) {
    SkipExtendedSpace();
    if (AtEnd() || Peek() == '|' || Peek() == ')') return node;
    MLC_ASSIGN_OR_RETURN(RegexNodePtr atom, ParseAtom(depth));
    if (atom == nullptr) continue;  // an option switch or a comment
    MLC_ASSIGN_OR_RETURN(atom, ParseQuantifiers(std::move(atom)));
    node->children.push_back(std::move(atom));
  }
}

void Parser::SkipExtendedSpace() {
  if (!options_.extended) return;
  while (!AtEnd() && (IsWhiteSpace(Peek()) || Peek() == '#')) {
    if (pattern_[pos_++] != '#') continue;
    while (!AtEnd() && Peek() != '\n') ++pos_;
  }
}

Result<RegexNodePtr> Parser::ParseAtom(int depth) {
  char32_t c = pattern_[pos_++];
  switch (c) {
    case '(':
      return ParseGroup(depth);
    case '[': {
      MLC_ASSIGN_OR_RETURN(CodePointRanges set, ParseClass(depth));
      return MakeRegexSet(std::move(set));  // case is closed inside, before any negation
    }
    case '.':
      return MakeRegexSet(options_.dot_all ? CodePointRanges{{0, 0x10FFFF}}
                                           : CodePointRanges{{0, 9}, {11, 0x10FFFF}});
    case '^':
      return AssertNode(Assert::kLineBegin);
    case '$':
      return AssertNode(Assert::kLineEnd);
    case '\\':
      return ParseEscape();
    case '*':
    case '+':
    case '?':
      return Bad("nothing to repeat");
    default:
      return SetNode({{c, c}});
  }
}

// Reads "{2}", "{2,}", "{,3}" or "{2,3}"; anything else leaves '{' a literal.
bool Parser::ParseInterval(int* min, int* max) {
  size_t start = pos_;
  auto number = [this](int* value) {
    size_t begin = pos_;
    *value = 0;
    while (Peek() >= '0' && Peek() <= '9' && *value <= kMaxRepeat) {
      *value = *value * 10 + static_cast<int>(pattern_[pos_++] - '0');
    }
    return pos_ > begin;
  };
  bool has_min = Eat('{') && number(min);
  bool comma = Eat(',');
  bool has_max = comma && number(max);
  if (comma && !has_max) *max = RegexNode::kUnbounded;
  if (!comma) *max = *min;
  if ((has_min || has_max) && Eat('}')) {
    if (!has_min) *min = 0;
    return true;
  }
  pos_ = start;
  return false;
}

Result<RegexNodePtr> Parser::ParseQuantifiers(RegexNodePtr atom) {
  for (int stacked = 0;; ++stacked) {
    SkipExtendedSpace();
    int min = 0, max = RegexNode::kUnbounded;
    bool is_interval = false;
    if (Eat('*')) {
    } else if (Eat('+')) {
      min = 1;
    } else if (Eat('?')) {
      max = 1;
    } else if (Peek() == '{' && ParseInterval(&min, &max)) {
      is_interval = true;
    } else {
      return atom;
    }
    if (stacked >= kMaxRegexDepth) return Bad("too many quantifiers");
    if (min > kMaxRepeat || max > kMaxRepeat) return Bad("repeat count over 1000");
    if (max != RegexNode::kUnbounded && max < min) return Bad("repeat counts out of order");
    RegexNodePtr repeat = MakeRegexNode(Kind::kRepeat);
    repeat->min = min;
    repeat->max = max;
    // "{n}?" and "{n,m}+" are two quantifiers in Oniguruma's syntax.
    if (!(is_interval && min == max) && Eat('?')) {
      repeat->mode = RegexNode::Mode::kLazy;
    } else if (!is_interval && Eat('+')) {
      repeat->mode = RegexNode::Mode::kPossessive;
    }
    repeat->children.push_back(std::move(atom));
    atom = std::move(repeat);
  }
}

// Parses the rest of a group into `outer`, whose opening has been read.
Result<RegexNodePtr> Parser::FinishGroup(RegexNodePtr outer, int depth) {
  MLC_ASSIGN_OR_RETURN(RegexNodePtr inner, ParseAlternatives(depth + 1));
  if (!Eat(')')) return Bad("missing ')'");
  if (outer == nullptr) return inner;
  outer->children.push_back(std::move(inner));
  return outer;
}

Result<RegexNodePtr> Parser::ParseGroup(int depth) {
  if (!Eat('?')) return FinishGroup(nullptr, depth);
  if (Eat(':')) return FinishGroup(nullptr, depth);
  if (Eat('>')) return FinishGroup(MakeRegexNode(Kind::kAtomic), depth);
  if (Eat('#')) {
    while (!AtEnd() && Peek() != ')') ++pos_;
    if (!Eat(')')) return Bad("missing ')'");
    return RegexNodePtr();
  }
  RegexNodePtr look = MakeRegexNode(Kind::kLook);
  look->behind = EatText("<=") || EatText("<!");
  look->negated = look->behind ? pattern_[pos_ - 1] == '!' : Peek() == '!';
  if (look->behind || Eat('=') || Eat('!')) return FinishGroup(std::move(look), depth);
  if (Peek() == '<' && IsRustWord(Peek(1))) {  // a named group
    while (!AtEnd() && Peek() != '>') ++pos_;
    if (!Eat('>')) return Bad("missing '>'");
    return FinishGroup(nullptr, depth);
  }
  return ParseOptionGroup(depth);
}

Result<RegexNodePtr> Parser::ParseOptionGroup(int depth) {
  Options outer = options_;
  bool value = true;
  for (;; ++pos_) {
    if (Peek() == '-') {
      value = false;
    } else if (Peek() == 'i') {
      options_.ignore_case = value;
    } else if (Peek() == 'm') {
      options_.dot_all = value;
    } else if (Peek() == 'x') {
      options_.extended = value;
    } else {
      break;
    }
  }
  if (Eat(')')) {  // holds to the end of the enclosing group, further alternatives included
    MLC_ASSIGN_OR_RETURN(RegexNodePtr rest, ParseAlternatives(depth + 1));
    options_ = outer;
    return rest;
  }
  if (!Eat(':')) return NotOffered("this group");
  Result<RegexNodePtr> group = FinishGroup(nullptr, depth);
  options_ = outer;
  return group;
}

Result<RegexNodePtr> Parser::ParseEscape() {
  if (AtEnd()) return Bad("trailing backslash");
  char32_t c = pattern_[pos_++];
  switch (c) {
    case 'A':
      return AssertNode(Assert::kTextBegin);
    case 'z':
      return AssertNode(Assert::kTextEnd);
    case 'Z':
      return AssertNode(Assert::kTextEndOrNewline);
    case 'b':
      return AssertNode(Assert::kWordEdge);
    case 'B':
      return AssertNode(Assert::kNoWordEdge);
    case 'p':
    case 'P': {
      MLC_ASSIGN_OR_RETURN(CodePointRanges set, ParseProperty(c == 'P'));
      return SetNode(std::move(set));
    }
    case 'R': {
      Parser newline(R"((?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}]))");
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
bool Parser::ParseSetEscape(char32_t c, CodePointRanges* out) {
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

Result<char32_t> Parser::ParseHex(int max_digits) {
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

Result<char32_t> Parser::ParseCharEscape(char32_t c) {
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
      return U'\a';
    case 'e':
      return U'\x1B';
    case 'u':
      return ParseHex(4);
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

Result<CodePointRanges> Parser::ParseProperty(bool negated) {
  std::string name;
  if (!Eat('{')) return Bad("\\p needs a name in braces");
  if (Eat('^')) negated = !negated;
  while (!AtEnd() && Peek() != '}' && Peek() < 0x80) name += static_cast<char>(pattern_[pos_++]);
  if (!Eat('}')) return Bad("missing '}'");
  CodePointRanges set;
  if (!LookUpProperty(name, &set)) return NotOffered("the character property \"" + name + "\"");
  return negated ? ComplementRanges(set) : set;
}

Result<CodePointRanges> Parser::ParsePosixClass() {
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
  if (set.empty() && EatText("word")) set = OnigWordRanges();
  if (set.empty() && EatText("xdigit")) ParseSetEscape('h', &set);
  if (set.empty() || !EatText(":]")) return NotOffered("this POSIX class");
  return negated ? ComplementRanges(set) : set;
}

// After '['. Closes the class under case before negating it.
Result<CodePointRanges> Parser::ParseClass(int depth) {
  if (depth > kMaxRegexDepth) return Bad("nested too deeply");
  bool negated = Eat('^');
  CodePointRanges set, left;
  bool has_left = false;
  auto join = [&] {
    NormalizeRanges(&set);
    if (options_.ignore_case) CloseUnderCase(&set);
    left = has_left ? IntersectRanges(left, set) : set;
    has_left = true;
    set.clear();
  };
  for (bool first = true; first || Peek() != ']'; first = false) {
    if (AtEnd()) return Bad("missing ']'");
    if (EatText("&&")) {
      join();
      if (Peek() == ']') break;
      continue;
    }
    MLC_RETURN_IF_ERROR(ParseClassItem(depth, &set));
  }
  ++pos_;
  join();
  return negated ? ComplementRanges(left) : left;
}

// One character, range, escape, nested or POSIX class.
Status Parser::ParseClassItem(int depth, CodePointRanges* out) {
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
  if (Peek() == '[') {
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
      return add(set);
    }
  }
  MLC_ASSIGN_OR_RETURN(char32_t first, one_char());
  char32_t last = first;
  bool is_range = Peek() == '-' && Peek(1) != ']' && Peek(1) != 0 && Peek(1) != '[';
  if (is_range) {
    ++pos_;
    MLC_ASSIGN_OR_RETURN(last, one_char());
    if (last < first) return Bad("range out of order");
  }
  out->emplace_back(first, last);
  return Status();
}

}  // namespace

RegexNodePtr MakeRegexNode(RegexNode::Kind kind) {
  RegexNodePtr node = std::make_unique<RegexNode>();
  node->kind = kind;
  return node;
}

RegexNodePtr MakeRegexSet(CodePointRanges set) {
  RegexNodePtr node = MakeRegexNode(RegexNode::Kind::kSet);
  node->set = std::move(set);
  return node;
}

Result<RegexNodePtr> ParseRegex(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) return InvalidArgument("regular expression over 64 KiB");
  return Parser(pattern).Parse();
}

}  // namespace mlc
