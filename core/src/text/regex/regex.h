// The regular expressions of tokenizer files, over Unicode code points.
//
// A backtracking matcher with the semantics of Oniguruma, which the reference uses, for what split
// patterns need: literals, classes (nested, &&, [:posix:]), \p{..}, \s \d \w \h \R, greedy, lazy
// and possessive quantifiers, alternatives, groups, (?i:..), atomic groups, look-ahead, look-behind
// of fixed length, anchors and \b. Back-references and recursion are refused. Case is ignored by
// simple folding.
//
// Neither the machine's stack nor time can be exhausted by a pattern or a text: loops over one
// class take no stack, and a search stops with an error after a number of steps that grows
// linearly with the text.
//
//   MLC_ASSIGN_OR_RETURN(Regex regex, Regex::Compile(R"(\p{L}+|\s+)"));
//   std::vector<Regex::Match> matches;
//   MLC_RETURN_IF_ERROR(regex.FindAll(text, &matches));
#ifndef MLC_TEXT_REGEX_H_
#define MLC_TEXT_REGEX_H_

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

  // Errors: kInvalidArgument for a malformed pattern, kUnsupported for syntax we do not have.
  static Result<Regex> Compile(std::string_view pattern);
  // A pattern that matches `text` itself.
  static Regex Literal(std::string_view text);

  // All matches from left to right without overlaps, as Oniguruma's iterator gives them: an empty
  // match right behind another match is left out. Requires valid UTF-8.
  // Errors: kResourceExhausted when the steps run out.
  Status FindAll(std::string_view text, std::vector<Match>* matches) const;

 private:
  explicit Regex(std::shared_ptr<const RegexProgram> program) : program_(std::move(program)) {}
  std::shared_ptr<const RegexProgram> program_;
};

}  // namespace mlc

#endif  // MLC_TEXT_REGEX_H_
