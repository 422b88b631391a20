// The syntax tree of a regular expression: the parser writes it, the compiler reads it.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/unicode/unicode.h"

namespace mlc {

struct RegexNode {
  enum class Kind { kSet, kSequence, kAlternatives, kRepeat, kLook, kAtomic, kAssert };
  enum class Mode { kGreedy, kLazy, kPossessive };
  enum class Assert {
    kLineBegin,
    kLineEnd,
    kTextBegin,
    kTextEnd,
    kTextEndOrNewline,
    kWordEdge,
    kNoWordEdge,
  };
  static constexpr int kUnbounded = -1;

  Kind kind = Kind::kSequence;
  CodePointRanges set;                               // kSet
  std::vector<std::unique_ptr<RegexNode>> children;  // all but kSet and kAssert
  int min = 0, max = kUnbounded;                     // kRepeat
  Mode mode = Mode::kGreedy;                         // kRepeat
  bool negated = false, behind = false;              // kLook
  Assert assertion = Assert::kLineBegin;             // kAssert
};
using RegexNodePtr = std::unique_ptr<RegexNode>;

// kEcmaScript is the syntax of JSON Schema's patterns. ECMAScript and Python differ for \d, \w, \s
// and '.' beyond ASCII. These are read so that a text which matches here matches in both.
enum class RegexSyntax { kOniguruma, kEcmaScript };

// At most kMaxRegexDepth levels of nesting.
constexpr int kMaxRegexDepth = 64;
Result<RegexNodePtr> ParseRegex(std::string_view pattern,
                                RegexSyntax syntax = RegexSyntax::kOniguruma);

RegexNodePtr MakeRegexNode(RegexNode::Kind kind);
RegexNodePtr MakeRegexSet(CodePointRanges set);
RegexNodePtr MakeRegexAssert(RegexNode::Assert assertion);

}  // namespace mlc
