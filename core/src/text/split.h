// Divides pieces at the matches of a pattern.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/json_view.h"
#include "text/piece.h"
#include "text/regex/regex.h"

namespace mlc {

// A range of text. The spans of one text cover it without gaps.
struct Span {
  size_t begin, end;
  bool is_match;
};

enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// Reads the member "behavior". Errors: kUnsupported for an unknown name.
Result<SplitBehavior> ParseSplitBehavior(const JsonView& view, std::string_view key);

// Reads the member "pattern": {"String": text} or {"Regex": expression}.
Result<Regex> ParsePattern(const JsonView& view);

// The spans of a regular expression, or of a predicate on single characters.
Result<std::vector<Span>> RegexSpans(const Regex& regex, std::string_view text);
std::vector<Span> CharSpans(bool (*matches)(char32_t), std::string_view text);
std::vector<Span> CharSpans(char32_t wanted, std::string_view text);

// Appends the parts of `piece` that the spans and `behavior` define. Empty parts are left out.
void SplitPiece(const Piece& piece, std::vector<Span> spans, SplitBehavior behavior,
                std::vector<Piece>* out);

}  // namespace mlc
