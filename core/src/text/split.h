// Cutting pieces where a pattern matches.
#ifndef MLC_TEXT_SPLIT_H_
#define MLC_TEXT_SPLIT_H_

#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/json_view.h"
#include "text/piece.h"
#include "text/regex/regex.h"

namespace mlc {

// A stretch of text; the stretches of one text cover it without gaps.
struct Span {
  size_t begin, end;
  bool is_match;
};

enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// Reads the member "behavior". Errors: kUnsupported for a name we do not know.
Result<SplitBehavior> ParseSplitBehavior(const JsonView& view, std::string_view key);

// Reads the member "pattern": {"String": text} or {"Regex": expression}.
Result<Regex> ParsePattern(const JsonView& view);

// Spans of a regular expression, and of a predicate that matches single characters.
Result<std::vector<Span>> RegexSpans(const Regex& regex, std::string_view text);
std::vector<Span> CharSpans(bool (*matches)(char32_t), std::string_view text);
std::vector<Span> CharSpans(char32_t wanted, std::string_view text);

// Appends the parts of `piece` that `behavior` makes of the spans; empty parts are left out.
void SplitPiece(const Piece& piece, std::vector<Span> spans, SplitBehavior behavior,
                std::vector<Piece>* out);

}  // namespace mlc

#endif  // MLC_TEXT_SPLIT_H_
