// A recursive-descent parser over the pattern's code points, used only by the parser's two files.
// The depth of recursion is limited.
#pragma once

#include <string>
#include <string_view>

#include "base/utf8.h"
#include "text/regex/regex_ast.h"

namespace mlc {

struct RegexOptions {
  bool ignore_case = false, dot_all = false, extended = false;
};

class RegexParser {
 public:
  explicit RegexParser(std::string_view pattern, RegexSyntax syntax = RegexSyntax::kOniguruma)
      : pattern_(ToCodePoints(pattern)), is_ecma_(syntax == RegexSyntax::kEcmaScript) {}

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
  bool ParseEcmaSetEscape(char32_t c, CodePointRanges* out) const;
  Result<char32_t> ParseCharEscape(char32_t c);
  Result<char32_t> ParseHex(int max_digits);
  bool ParseInterval(int* min, int* max);
  void SkipExtendedSpace();
  RegexNodePtr SetNode(CodePointRanges set) const {
    if (options_.ignore_case) CloseUnderCase(&set);
    return MakeRegexSet(std::move(set));
  }

  std::u32string pattern_;
  bool is_ecma_;
  bool in_negated_class_ = false;  // in ECMAScript, where classes are not nested
  size_t pos_ = 0;
  RegexOptions options_;
};

}  // namespace mlc
