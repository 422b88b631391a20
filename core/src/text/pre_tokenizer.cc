#include "text/pre_tokenizer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/regex/regex.h"
#include "text/split.h"
#include "text/unicode/unicode.h"

namespace mlc {
namespace {

using PreTokenizerPtr = std::unique_ptr<PreTokenizer>;

constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// A pre-tokenizer that handles each piece separately.
class PiecewisePreTokenizer : public PreTokenizer {
 public:
  Status Apply(std::vector<Piece>* pieces) const override {
    std::vector<Piece> out;
    out.reserve(pieces->size());
    for (Piece& piece : *pieces) {
      if (piece.id >= 0) {
        out.push_back(std::move(piece));
      } else {
        MLC_RETURN_IF_ERROR(ApplyToPiece(std::move(piece), &out));
      }
    }
    *pieces = std::move(out);
    return Status();
  }

 protected:
  virtual Status ApplyToPiece(Piece piece, std::vector<Piece>* out) const = 0;
};

void Prepend(std::string_view text, Piece* piece) {
  if (piece->text.empty()) return;
  piece->text.insert(0, text);
  if (piece->lead > 0) piece->lead += text.size();
}

class ByteLevelPreTokenizer : public PiecewisePreTokenizer {
 public:
  static Result<PreTokenizerPtr> FromJson(const JsonView& view) {
    auto self = std::make_unique<ByteLevelPreTokenizer>();
    MLC_ASSIGN_OR_RETURN(self->add_prefix_space_, view.Bool("add_prefix_space"));
    MLC_ASSIGN_OR_RETURN(bool use_regex, view.BoolOr("use_regex", true));
    MLC_RETURN_IF_ERROR(view.Check(view.Bool("trim_offsets")));  // checked only: we keep no offsets
    if (use_regex) {
      MLC_ASSIGN_OR_RETURN(Regex regex, Regex::Compile(kGpt2Pattern));
      self->regex_ = std::make_unique<Regex>(std::move(regex));
    }
    return PreTokenizerPtr(std::move(self));
  }

  bool KeepsText() const override { return true; }

 protected:
  Status ApplyToPiece(Piece piece, std::vector<Piece>* out) const override {
    if (add_prefix_space_ && !piece.text.empty() && piece.text[0] != ' ') Prepend(" ", &piece);
    size_t first = out->size();
    if (regex_ == nullptr) {
      out->push_back(std::move(piece));
    } else {
      MLC_ASSIGN_OR_RETURN(std::vector<Span> spans, RegexSpans(*regex_, piece.text));
      SplitPiece(piece, std::move(spans), SplitBehavior::kIsolated, out);
    }
    for (size_t i = first; i < out->size(); ++i) ToBytes(&(*out)[i]);
    return Status();
  }

 private:
  static void ToBytes(Piece* piece) {
    if (piece->lead > 0) {
      piece->lead = ToByteLevel(std::string_view(piece->text).substr(0, piece->lead)).size();
    }
    piece->text = ToByteLevel(piece->text);
  }
  bool add_prefix_space_ = false;
  std::unique_ptr<Regex> regex_;
};

class SplitPreTokenizer : public PiecewisePreTokenizer {
 public:
  SplitPreTokenizer(Regex regex, SplitBehavior behavior, bool invert)
      : regex_(std::move(regex)), behavior_(behavior), invert_(invert) {}

  static Result<PreTokenizerPtr> FromJson(const JsonView& view) {
    MLC_ASSIGN_OR_RETURN(SplitBehavior behavior, ParseSplitBehavior(view, "behavior"));
    MLC_ASSIGN_OR_RETURN(bool invert, view.Bool("invert"));
    MLC_ASSIGN_OR_RETURN(Regex regex, ParsePattern(view));
    return PreTokenizerPtr(std::make_unique<SplitPreTokenizer>(std::move(regex), behavior, invert));
  }

  bool KeepsText() const override { return behavior_ != SplitBehavior::kRemoved; }

 protected:
  Status ApplyToPiece(Piece piece, std::vector<Piece>* out) const override {
    MLC_ASSIGN_OR_RETURN(std::vector<Span> spans, RegexSpans(regex_, piece.text));
    if (invert_) {
      for (Span& span : spans) span.is_match = !span.is_match;
    }
    SplitPiece(piece, std::move(spans), behavior_, out);
    return Status();
  }

 private:
  Regex regex_;
  SplitBehavior behavior_;
  bool invert_;
};

// Splits by a predicate on characters: Digits, Punctuation, WhitespaceSplit, CharDelimiterSplit.
class CharPreTokenizer : public PiecewisePreTokenizer {
 public:
  using ToSpans = std::function<std::vector<Span>(std::string_view)>;
  CharPreTokenizer(ToSpans to_spans, SplitBehavior behavior)
      : to_spans_(std::move(to_spans)), behavior_(behavior) {}

  static PreTokenizerPtr Make(bool (*matches)(char32_t), SplitBehavior behavior) {
    auto spans = [matches](std::string_view text) { return CharSpans(matches, text); };
    return std::make_unique<CharPreTokenizer>(spans, behavior);
  }
  static Result<PreTokenizerPtr> Digits(const JsonView& view) {
    MLC_ASSIGN_OR_RETURN(bool individual, view.Bool("individual_digits"));
    return Make(IsNumeric, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
  }
  static Result<PreTokenizerPtr> Punctuation(const JsonView& view) {
    SplitBehavior behavior = SplitBehavior::kIsolated;
    if (view.Optional("behavior")) {
      MLC_ASSIGN_OR_RETURN(behavior, ParseSplitBehavior(view, "behavior"));
    }
    return Make(IsPunctuation, behavior);
  }
  static Result<PreTokenizerPtr> Delimiter(const JsonView& view) {
    MLC_ASSIGN_OR_RETURN(char32_t delimiter, view.Character("delimiter"));
    auto spans = [delimiter](std::string_view text) { return CharSpans(delimiter, text); };
    return PreTokenizerPtr(std::make_unique<CharPreTokenizer>(spans, SplitBehavior::kRemoved));
  }

  bool KeepsText() const override { return behavior_ != SplitBehavior::kRemoved; }

 protected:
  Status ApplyToPiece(Piece piece, std::vector<Piece>* out) const override {
    SplitPiece(piece, to_spans_(piece.text), behavior_, out);
    return Status();
  }

 private:
  ToSpans to_spans_;
  SplitBehavior behavior_;
};

// Finds runs of word characters, and runs of other characters that are not spaces. Removes spaces.
class WhitespacePreTokenizer : public PiecewisePreTokenizer {
 protected:
  Status ApplyToPiece(Piece piece, std::vector<Piece>* out) const override {
    enum class Kind { kSpace, kWord, kRest };
    auto kind_of = [](char32_t c) {
      if (IsWhiteSpace(c)) return Kind::kSpace;
      return IsRustWord(c) ? Kind::kWord : Kind::kRest;
    };
    size_t begin = 0;
    Kind kind = Kind::kSpace;
    for (size_t pos = 0; pos < piece.text.size();) {
      size_t at = pos;
      Kind next = kind_of(DecodeUtf8(piece.text, &pos));
      if (next == kind) continue;
      if (kind != Kind::kSpace) out->push_back(piece.Slice(begin, at));
      begin = at;
      kind = next;
    }
    if (kind != Kind::kSpace) out->push_back(piece.Slice(begin, piece.text.size()));
    return Status();
  }
};

class MetaspacePreTokenizer : public PiecewisePreTokenizer {
 public:
  static Result<PreTokenizerPtr> FromJson(const JsonView& view) {
    auto self = std::make_unique<MetaspacePreTokenizer>();
    MLC_ASSIGN_OR_RETURN(self->replacement_, view.Character("replacement"));
    MLC_ASSIGN_OR_RETURN(bool prefix, view.BoolOr("add_prefix_space", true));
    MLC_ASSIGN_OR_RETURN(self->scheme_, view.StringOr("prepend_scheme", "always"));
    MLC_ASSIGN_OR_RETURN(self->split_, view.BoolOr("split", true));
    const std::string& scheme = self->scheme_;
    if (scheme != "always" && scheme != "first" && scheme != "never") {
      return view.NotOffered("the prepend_scheme \"" + scheme + "\" is not supported");
    }
    if (!prefix && scheme != "never") {
      return view.Bad("add_prefix_space does not match the declared prepend_scheme");
    }
    AppendUtf8(self->replacement_, &self->replacement_text_);
    return PreTokenizerPtr(std::move(self));
  }

  bool KeepsText() const override { return true; }

 protected:
  Status ApplyToPiece(Piece piece, std::vector<Piece>* out) const override {
    ReplaceSpaces(&piece);
    bool wanted = scheme_ == "always" || (scheme_ == "first" && piece.at_start);
    bool has = piece.text.compare(0, replacement_text_.size(), replacement_text_) == 0;
    if (wanted && !has) Prepend(replacement_text_, &piece);
    if (split_) {
      SplitPiece(piece, CharSpans(replacement_, piece.text), SplitBehavior::kMergedWithNext, out);
    } else {
      out->push_back(std::move(piece));
    }
    return Status();
  }

 private:
  void ReplaceSpaces(Piece* piece) const {
    PieceRewriter rewriter(piece);
    std::string_view text = piece->text;
    for (size_t pos = 0; pos < text.size();) {
      size_t space = std::min(text.find(' ', pos), text.size());
      rewriter.Copy(space - pos);
      if (space < text.size()) rewriter.Replace(replacement_text_, 1);
      pos = space + 1;
    }
    rewriter.Finish();
  }

  char32_t replacement_ = 0;
  std::string replacement_text_, scheme_;
  bool split_ = true;
};

class FixedLengthPreTokenizer : public PiecewisePreTokenizer {
 public:
  explicit FixedLengthPreTokenizer(int64_t length) : length_(length) {}

  static Result<PreTokenizerPtr> FromJson(const JsonView& view) {
    int64_t length = 5;
    if (view.Optional("length")) {
      MLC_ASSIGN_OR_RETURN(length, view.Int("length", 1, INT32_MAX));
    }
    return PreTokenizerPtr(std::make_unique<FixedLengthPreTokenizer>(length));
  }

 protected:
  Status ApplyToPiece(Piece piece, std::vector<Piece>* out) const override {
    for (size_t pos = 0; pos < piece.text.size();) {
      size_t begin = pos;
      for (int64_t i = 0; i < length_ && pos < piece.text.size(); ++i) DecodeUtf8(piece.text, &pos);
      out->push_back(piece.Slice(begin, pos));
    }
    return Status();
  }

 private:
  int64_t length_;
};

class SequencePreTokenizer : public PreTokenizer {
 public:
  explicit SequencePreTokenizer(std::vector<PreTokenizerPtr> parts) : parts_(std::move(parts)) {}

  static Result<PreTokenizerPtr> FromJson(const JsonView& view) {
    MLC_ASSIGN_OR_RETURN(std::vector<JsonView> elements, view.Array("pretokenizers"));
    std::vector<PreTokenizerPtr> parts;
    for (const JsonView& element : elements) {
      MLC_ASSIGN_OR_RETURN(PreTokenizerPtr part, PreTokenizer::FromJson(element));
      parts.push_back(std::move(part));
    }
    return PreTokenizerPtr(std::make_unique<SequencePreTokenizer>(std::move(parts)));
  }

  Status Apply(std::vector<Piece>* pieces) const override {
    for (const PreTokenizerPtr& part : parts_) MLC_RETURN_IF_ERROR(part->Apply(pieces));
    return Status();
  }

  bool KeepsText() const override {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const PreTokenizerPtr& part) { return part->KeepsText(); });
  }

 private:
  std::vector<PreTokenizerPtr> parts_;
};

Result<PreTokenizerPtr> MakeBert() {
  std::vector<PreTokenizerPtr> parts;
  parts.push_back(CharPreTokenizer::Make(IsWhiteSpace, SplitBehavior::kRemoved));
  parts.push_back(CharPreTokenizer::Make(IsPunctuation, SplitBehavior::kIsolated));
  return PreTokenizerPtr(std::make_unique<SequencePreTokenizer>(std::move(parts)));
}

}  // namespace

Result<PreTokenizerPtr> PreTokenizer::FromJson(const JsonView& view) {
  std::string type = TypeOf(view);
  if (type == "ByteLevel") return ByteLevelPreTokenizer::FromJson(view);
  if (type == "Split") return SplitPreTokenizer::FromJson(view);
  if (type == "Sequence") return SequencePreTokenizer::FromJson(view);
  if (type == "Digits") return CharPreTokenizer::Digits(view);
  if (type == "Punctuation") return CharPreTokenizer::Punctuation(view);
  if (type == "Metaspace") return MetaspacePreTokenizer::FromJson(view);
  if (type == "Whitespace") return PreTokenizerPtr(std::make_unique<WhitespacePreTokenizer>());
  if (type == "WhitespaceSplit") {
    return CharPreTokenizer::Make(IsWhiteSpace, SplitBehavior::kRemoved);
  }
  if (type == "CharDelimiterSplit" || type == "Delimiter") return CharPreTokenizer::Delimiter(view);
  if (type == "BertPreTokenizer") return MakeBert();
  if (type == "FixedLength") return FixedLengthPreTokenizer::FromJson(view);
  return view.NotOffered("the pre-tokenizer type \"" + type + "\" is not supported");
}

}  // namespace mlc
