// Alternatives, sequences, quantifiers and groups; regex_parser_class.cc has the rest.
#include "text/regex/regex_parser.h"

#include <algorithm>

namespace mlc {
namespace {

using Kind = RegexNode::Kind;
using Assert = RegexNode::Assert;

constexpr size_t kMaxPatternBytes = 1 << 16;
constexpr int kMaxRepeat = 2048;

}  // namespace

Result<RegexNodePtr> RegexParser::ParseAlternatives(int depth) {
  if (depth > kMaxRegexDepth) return Bad("nested too deeply");
  RegexOptions outer = options_;  // an inline (?i) is valid until the end of its group
  RegexNodePtr node = MakeRegexNode(Kind::kAlternatives);
  do {
    MLC_ASSIGN_OR_RETURN(RegexNodePtr sequence, ParseSequence(depth));
    node->children.push_back(std::move(sequence));
  } while (Eat('|'));
  options_ = outer;
  if (node->children.size() == 1) return std::move(node->children[0]);
  return node;
}

Result<RegexNodePtr> RegexParser::ParseSequence(int depth) {
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

void RegexParser::SkipExtendedSpace() {
  if (!options_.extended) return;
  while (!AtEnd() && (IsWhiteSpace(Peek()) || Peek() == '#')) {
    if (pattern_[pos_++] != '#') continue;
    while (!AtEnd() && Peek() != '\n') ++pos_;
  }
}

Result<RegexNodePtr> RegexParser::ParseAtom(int depth) {
  char32_t c = pattern_[pos_++];
  switch (c) {
    case '(':
      return ParseGroup(depth);
    case '[': {
      MLC_ASSIGN_OR_RETURN(CodePointRanges set, ParseClass(depth));
      return MakeRegexSet(std::move(set));  // case is closed inside, before a negation
    }
    case '.':
      if (is_ecma_) return MakeRegexSet(ComplementRanges({{10, 10}, {13, 13}, {0x2028, 0x2029}}));
      return MakeRegexSet(options_.dot_all ? CodePointRanges{{0, 0x10FFFF}}
                                           : CodePointRanges{{0, 9}, {11, 0x10FFFF}});
    case '^':
      return MakeRegexAssert(Assert::kLineBegin);
    case '$':
      return MakeRegexAssert(Assert::kLineEnd);
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

// Reads "{2}", "{2,}", "{,3}" or "{2,3}". Anything else makes '{' a literal.
bool RegexParser::ParseInterval(int* min, int* max) {
  size_t start = pos_;
  auto number = [this](int* value) {
    size_t begin = pos_;
    *value = 0;
    for (; Peek() >= '0' && Peek() <= '9'; ++pos_) {
      *value = std::min(*value * 10 + static_cast<int>(Peek() - '0'), kMaxRepeat + 1);
    }
    return pos_ > begin;
  };
  bool has_min = Eat('{') && number(min);
  bool comma = Eat(',');
  bool has_max = comma && number(max);
  if (comma && !has_max) *max = RegexNode::kUnbounded;
  if (!comma) *max = *min;
  if (is_ecma_ && !has_min) has_max = false;
  if ((has_min || has_max) && Eat('}')) {
    if (!has_min) *min = 0;
    return true;
  }
  pos_ = start;
  return false;
}

Result<RegexNodePtr> RegexParser::ParseQuantifiers(RegexNodePtr atom) {
  for (int stacked = 0;; ++stacked) {
    bool is_stacked = stacked > 0 && (Peek() == '*' || Peek() == '+' || Peek() == '?');
    if (is_ecma_ && is_stacked) return Bad("nothing to repeat");
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
    if (min > kMaxRepeat || max > kMaxRepeat)
      return Bad("repeat count over " + std::to_string(kMaxRepeat));
    if (max != RegexNode::kUnbounded && max < min) return Bad("repeat counts out of order");
    RegexNodePtr repeat = MakeRegexNode(Kind::kRepeat);
    repeat->min = min;
    repeat->max = max;
    // "{n}?" and "{n,m}+" are two quantifiers in Oniguruma's syntax.
    if (!(is_interval && min == max && !is_ecma_) && Eat('?')) {
      repeat->mode = RegexNode::Mode::kLazy;
    } else if (!is_interval && !is_ecma_ && Eat('+')) {
      repeat->mode = RegexNode::Mode::kPossessive;
    }
    repeat->children.push_back(std::move(atom));
    atom = std::move(repeat);
  }
}

// Parses the rest of a group into `outer`. The opening has been read already.
Result<RegexNodePtr> RegexParser::FinishGroup(RegexNodePtr outer, int depth) {
  MLC_ASSIGN_OR_RETURN(RegexNodePtr inner, ParseAlternatives(depth + 1));
  if (!Eat(')')) return Bad("missing ')'");
  if (outer == nullptr) return inner;
  outer->children.push_back(std::move(inner));
  return outer;
}

Result<RegexNodePtr> RegexParser::ParseGroup(int depth) {
  if (!Eat('?')) return FinishGroup(nullptr, depth);
  if (Eat(':')) return FinishGroup(nullptr, depth);
  if (is_ecma_ && (Peek() == '>' || Peek() == '#')) return NotOffered("this group");
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

Result<RegexNodePtr> RegexParser::ParseOptionGroup(int depth) {
  if (is_ecma_) return NotOffered("this group");
  RegexOptions outer = options_;
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
  if (Eat(')')) {  // valid until the end of the enclosing group, in further alternatives too
    MLC_ASSIGN_OR_RETURN(RegexNodePtr rest, ParseAlternatives(depth + 1));
    options_ = outer;
    return rest;
  }
  if (!Eat(':')) return NotOffered("this group");
  Result<RegexNodePtr> group = FinishGroup(nullptr, depth);
  options_ = outer;
  return group;
}

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

RegexNodePtr MakeRegexAssert(RegexNode::Assert assertion) {
  RegexNodePtr node = MakeRegexNode(Kind::kAssert);
  node->assertion = assertion;
  return node;
}

Result<RegexNodePtr> ParseRegex(std::string_view pattern, RegexSyntax syntax) {
  if (pattern.size() > kMaxPatternBytes) return InvalidArgument("regular expression over 64 KiB");
  return RegexParser(pattern, syntax).Parse();
}

}  // namespace mlc
