#include "text/split.h"

#include <algorithm>

#include "base/utf8.h"

namespace mlc {
namespace {

template <typename Predicate>
std::vector<Span> SpansOf(Predicate matches, std::string_view text) {
  std::vector<Span> spans;
  size_t pending = 0;
  for (size_t pos = 0; pos < text.size();) {
    size_t begin = pos;
    if (!matches(DecodeUtf8(text, &pos))) continue;
    if (pending < begin) spans.push_back({pending, begin, false});
    spans.push_back({begin, pos, true});
    pending = pos;
  }
  if (pending < text.size()) spans.push_back({pending, text.size(), false});
  return spans;
}

// A match joins the span before it, unless that span is a match too.
std::vector<Span> MergeWithPrevious(const std::vector<Span>& spans) {
  std::vector<Span> out;
  bool after_match = false;
  for (const Span& span : spans) {
    if (span.is_match && !after_match && !out.empty()) {
      out.back().end = span.end;
    } else {
      out.push_back(span);
    }
    after_match = span.is_match;
  }
  return out;
}

std::vector<Span> MergeWithNext(const std::vector<Span>& spans) {
  std::vector<Span> out;
  bool before_match = false;
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
    if (span->is_match && !before_match && !out.empty()) {
      out.back().begin = span->begin;
    } else {
      out.push_back(*span);
    }
    before_match = span->is_match;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<Span> MergeContiguous(const std::vector<Span>& spans) {
  std::vector<Span> out;
  bool last_is_match = false;
  for (const Span& span : spans) {
    if (span.is_match == last_is_match && !out.empty()) {
      out.back().end = span.end;
    } else {
      out.push_back(span);
    }
    last_is_match = span.is_match;
  }
  return out;
}

}  // namespace

Result<SplitBehavior> ParseSplitBehavior(const JsonView& view, std::string_view key) {
  static constexpr std::pair<std::string_view, SplitBehavior> kNames[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  };
  MLC_ASSIGN_OR_RETURN(std::string name, view.String(key));
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  MLC_ASSIGN_OR_RETURN(JsonView member, view.Member(key));
  return member.NotOffered("the split behavior \"" + name + "\" is not supported");
}

Result<Regex> ParsePattern(const JsonView& view) {
  MLC_ASSIGN_OR_RETURN(JsonView pattern, view.Member("pattern"));
  if (pattern.Optional("String")) {
    MLC_ASSIGN_OR_RETURN(std::string text, pattern.String("String"));
    return Regex::Literal(text);
  }
  MLC_ASSIGN_OR_RETURN(std::string expression, pattern.String("Regex"));
  Result<Regex> regex = Regex::Compile(expression);
  if (regex.ok()) return regex;
  Status error = std::move(regex).status();
  std::string path = pattern.path() + ".Regex";
  return std::move(error).In("tokenizer.json: " + path).WithParam(path);
}

Result<std::vector<Span>> RegexSpans(const Regex& regex, std::string_view text) {
  std::vector<Regex::Match> matches;
  MLC_RETURN_IF_ERROR(regex.FindAll(text, &matches));
  std::vector<Span> spans;
  size_t pending = 0;
  for (const Regex::Match& match : matches) {
    if (pending != match.begin) spans.push_back({pending, match.begin, false});
    spans.push_back({match.begin, match.end, true});
    pending = match.end;
  }
  if (pending != text.size()) spans.push_back({pending, text.size(), false});
  return spans;
}

std::vector<Span> CharSpans(bool (*matches)(char32_t), std::string_view text) {
  return SpansOf(matches, text);
}

std::vector<Span> CharSpans(char32_t wanted, std::string_view text) {
  return SpansOf([wanted](char32_t c) { return c == wanted; }, text);
}

void SplitPiece(const Piece& piece, std::vector<Span> spans, SplitBehavior behavior,
                std::vector<Piece>* out) {
  if (behavior == SplitBehavior::kMergedWithPrevious) spans = MergeWithPrevious(spans);
  if (behavior == SplitBehavior::kMergedWithNext) spans = MergeWithNext(spans);
  if (behavior == SplitBehavior::kContiguous) spans = MergeContiguous(spans);
  for (const Span& span : spans) {
    bool removed = behavior == SplitBehavior::kRemoved && span.is_match;
    if (!removed && span.end > span.begin) out->push_back(piece.Slice(span.begin, span.end));
  }
}

}  // namespace mlc
