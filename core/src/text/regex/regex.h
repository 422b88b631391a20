// The regular expressions of tokenizer files, over Unicode code points.
//
// A backtracking matcher with the semantics of Oniguruma, which the reference uses. It supports
// what split patterns need: literals, classes (nested, &&, [:posix:]), \p{..}, \s \d \w \h \R,
// greedy, lazy and possessive quantifiers, alternatives, groups, (?i:..), atomic groups,
// look-ahead, look-behind of fixed length, anchors and \b. Back-references and recursion are
// refused. Ignoring case uses simple folding.
//
// No pattern and no text can exhaust the stack or the time. Loops over one class use no stack. A
// search stops with an error after a number of steps that is linear in the text.
//
//   MLC_ASSIGN_OR_RETURN(Regex regex, Regex::Compile(R"(\p{L}+|\s+)"));
//   std::vector<Regex::Match> matches;
//   MLC_RETURN_IF_ERROR(regex.FindAll(text, &matches));
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc {

struct RegexProgram;

class Regex {
 public:
  struct Match {
    size_t begin, end;  // bytes
  };

  // Errors: kInvalidArgument for a malformed pattern, kUnsupported for syntax that we do not have.
  static Result<Regex> Compile(std::string_view pattern);
  // A pattern that matches exactly `text`.
  static Regex Literal(std::string_view text);

  // All matches from left to right, without overlaps, as Oniguruma's iterator gives them: an empty
  // match directly behind another match is left out. Requires valid UTF-8. Errors:
  // kResourceExhausted when the steps run out.
  Status FindAll(std::string_view text, std::vector<Match>* matches) const;

 private:
  explicit Regex(std::shared_ptr<const RegexProgram> program) : program_(std::move(program)) {}
  std::shared_ptr<const RegexProgram> program_;
};

}  // namespace mlc
