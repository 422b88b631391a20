#include "text/normalizer.h"

#include <utility>
#include <vector>

#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/regex/regex.h"
#include "text/split.h"
#include "text/unicode/unicode.h"
#include "text/unicode/unicode_normalize.h"

namespace mlc {
namespace {

using NormalizerPtr = std::unique_ptr<Normalizer>;

// Calls visit(character, its bytes in the text) for each character in order.
template <typename Visit>
void ForEachChar(std::string_view text, Visit visit) {
  for (size_t pos = 0; pos < text.size();) {
    size_t begin = pos;
    char32_t c = DecodeUtf8(text, &pos);
    visit(c, text.substr(begin, pos - begin));
  }
}

template <typename Keep>
void Filter(Keep keep, Piece* piece) {
  PieceRewriter rewriter(piece);
  ForEachChar(piece->text, [&](char32_t c, std::string_view bytes) {
    keep(c) ? rewriter.Copy(bytes.size()) : rewriter.Drop(bytes.size());
  });
  rewriter.Finish();
}

template <typename Convert>
void Map(Convert convert, Piece* piece) {
  PieceRewriter rewriter(piece);
  ForEachChar(piece->text, [&](char32_t c, std::string_view bytes) {
    char32_t mapped = convert(c);
    if (mapped == c) return rewriter.Copy(bytes.size());
    std::string text;
    AppendUtf8(mapped, &text);
    rewriter.Replace(text, bytes.size());
  });
  rewriter.Finish();
}

void Lowercase(Piece* piece) {
  PieceRewriter rewriter(piece);
  ForEachChar(piece->text, [&](char32_t c, std::string_view bytes) {
    char32_t lower = ToLower(c);
    if (lower == c) return rewriter.Copy(bytes.size());
    std::string text;
    AppendUtf8(lower, &text);
    // dotted capital I: the only mapping to two characters
    if (c == 0x130) AppendUtf8(0x307, &text);
    rewriter.Replace(text, bytes.size());
  });
  rewriter.Finish();
}

// A normalizer without parameters.
class PlainNormalizer : public Normalizer {
 public:
  explicit PlainNormalizer(void (*apply)(Piece*)) : apply_(apply) {}
  Status Apply(Piece* piece) const override {
    apply_(piece);
    return Status();
  }

 private:
  void (*apply_)(Piece*);
};

// The clean-up rules of NMT's preprocessing, as the reference lists them.
void ApplyNmt(Piece* piece) {
  auto keep = [](char32_t c) {
    return !((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
             c == 0x9F);
  };
  auto to_space = [](char32_t c) {
    bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                 (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                 c == 0xFEFF || c == 0xFFFD;
    return space ? U' ' : c;
  };
  Filter(keep, piece);
  Map(to_space, piece);
}

void ApplyStripAccents(Piece* piece) {
  Filter([](char32_t c) { return !IsCombiningMark(c); }, piece);
}

void ApplyByteLevel(Piece* piece) {
  PieceRewriter rewriter(piece);
  ForEachChar(piece->text, [&](char32_t, std::string_view bytes) {
    rewriter.Replace(ToByteLevel(bytes), bytes.size());
  });
  rewriter.Finish();
}

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  static Result<NormalizerPtr> FromJson(const JsonView& view) {
    MLC_ASSIGN_OR_RETURN(bool left, view.Bool("strip_left"));
    MLC_ASSIGN_OR_RETURN(bool right, view.Bool("strip_right"));
    return NormalizerPtr(std::make_unique<StripNormalizer>(left, right));
  }
  Status Apply(Piece* piece) const override {
    // the first character to keep, and the end of the last
    size_t first = std::string::npos, last = 0, pos = 0;
    ForEachChar(piece->text, [&](char32_t c, std::string_view bytes) {
      if (!IsWhiteSpace(c)) {
        if (first == std::string::npos) first = pos;
        last = pos + bytes.size();
      }
      pos += bytes.size();
    });
    if (first == std::string::npos) first = last = 0;
    if (!left_ && last > 0) first = 0;
    if (!right_ && last > 0) last = pos;
    if (last == 0 && !left_ && !right_) return Status();
    PieceRewriter rewriter(piece);
    rewriter.Drop(first);
    rewriter.Copy(last - first);
    rewriter.Finish();
    return Status();
  }

 private:
  bool left_, right_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string text) : text_(std::move(text)) {}
  static Result<NormalizerPtr> FromJson(const JsonView& view) {
    MLC_ASSIGN_OR_RETURN(std::string text, view.String("prepend"));
    return NormalizerPtr(std::make_unique<PrependNormalizer>(std::move(text)));
  }
  Status Apply(Piece* piece) const override {
    if (piece->text.empty()) return Status();
    piece->text.insert(0, text_);
    if (piece->lead > 0) piece->lead += text_.size();
    return Status();
  }

 private:
  std::string text_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(Regex regex, std::string content)
      : regex_(std::move(regex)), content_(std::move(content)) {}
  static Result<NormalizerPtr> FromJson(const JsonView& view) {
    MLC_ASSIGN_OR_RETURN(std::string content, view.String("content"));
    MLC_ASSIGN_OR_RETURN(Regex regex, ParsePattern(view));
    return NormalizerPtr(std::make_unique<ReplaceNormalizer>(std::move(regex), std::move(content)));
  }
  Status Apply(Piece* piece) const override {
    if (piece->text.empty()) return Status();
    MLC_ASSIGN_OR_RETURN(std::vector<Span> spans, RegexSpans(regex_, piece->text));
    PieceRewriter rewriter(piece);
    for (const Span& span : spans) {
      size_t bytes = span.end - span.begin;
      if (span.is_match) {
        rewriter.Drop(bytes);
        rewriter.Insert(content_);
      } else {
        rewriter.Copy(bytes);
      }
    }
    rewriter.Finish();
    return Status();
  }

 private:
  Regex regex_;
  std::string content_;
};

bool IsChineseChar(char32_t c) {
  static constexpr std::pair<char32_t, char32_t> kBlocks[] = {
      {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
      {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  for (const auto& [first, last] : kBlocks) {
    if (c >= first && c <= last) return true;
  }
  return false;
}

class BertNormalizer : public Normalizer {
 public:
  static Result<NormalizerPtr> FromJson(const JsonView& view) {
    auto self = std::make_unique<BertNormalizer>();
    MLC_ASSIGN_OR_RETURN(self->clean_text_, view.Bool("clean_text"));
    MLC_ASSIGN_OR_RETURN(self->handle_chinese_chars_, view.Bool("handle_chinese_chars"));
    MLC_ASSIGN_OR_RETURN(self->lowercase_, view.Bool("lowercase"));
    MLC_ASSIGN_OR_RETURN(self->strip_accents_, view.BoolOr("strip_accents", self->lowercase_));
    return NormalizerPtr(std::move(self));
  }
  Status Apply(Piece* piece) const override {
    if (clean_text_) CleanText(piece);
    if (handle_chinese_chars_) SpaceChineseChars(piece);
    if (strip_accents_) {
      NormalizeUnicode(NormalizationForm::kNfd, piece);
      Filter([](char32_t c) { return !IsNonspacingMark(c); }, piece);
    }
    if (lowercase_) Lowercase(piece);
    return Status();
  }

 private:
  static void CleanText(Piece* piece) {
    auto keep = [](char32_t c) {
      bool layout = c == '\t' || c == '\n' || c == '\r';
      return c != 0 && c != 0xFFFD && (layout || !IsOther(c));
    };
    Filter(keep, piece);
    Map([](char32_t c) { return IsWhiteSpace(c) ? U' ' : c; }, piece);
  }
  static void SpaceChineseChars(Piece* piece) {
    PieceRewriter rewriter(piece);
    ForEachChar(piece->text, [&](char32_t c, std::string_view bytes) {
      if (!IsChineseChar(c)) return rewriter.Copy(bytes.size());
      rewriter.Replace(" " + std::string(bytes) + " ", bytes.size());
    });
    rewriter.Finish();
  }
  bool clean_text_ = true, handle_chinese_chars_ = true, strip_accents_ = true, lowercase_ = true;
};

class SequenceNormalizer : public Normalizer {
 public:
  static Result<NormalizerPtr> FromJson(const JsonView& view) {
    MLC_ASSIGN_OR_RETURN(std::vector<JsonView> elements, view.Array("normalizers"));
    auto self = std::make_unique<SequenceNormalizer>();
    for (const JsonView& element : elements) {
      MLC_ASSIGN_OR_RETURN(NormalizerPtr part, Normalizer::FromJson(element));
      self->parts_.push_back(std::move(part));
    }
    return NormalizerPtr(std::move(self));
  }
  Status Apply(Piece* piece) const override {
    for (const NormalizerPtr& part : parts_) MLC_RETURN_IF_ERROR(part->Apply(piece));
    return Status();
  }

 private:
  std::vector<NormalizerPtr> parts_;
};

void (*FindPlain(const std::string& type))(Piece*) {
  if (type == "NFC") return [](Piece* p) { NormalizeUnicode(NormalizationForm::kNfc, p); };
  if (type == "NFD") return [](Piece* p) { NormalizeUnicode(NormalizationForm::kNfd, p); };
  if (type == "NFKC") return [](Piece* p) { NormalizeUnicode(NormalizationForm::kNfkc, p); };
  if (type == "NFKD") return [](Piece* p) { NormalizeUnicode(NormalizationForm::kNfkd, p); };
  if (type == "Lowercase") return Lowercase;
  if (type == "StripAccents") return ApplyStripAccents;
  if (type == "Nmt") return ApplyNmt;
  if (type == "ByteLevel") return ApplyByteLevel;
  return nullptr;
}

}  // namespace

Result<NormalizerPtr> Normalizer::FromJson(const JsonView& view) {
  std::string type = TypeOf(view);
  if (auto* plain = FindPlain(type)) return NormalizerPtr(std::make_unique<PlainNormalizer>(plain));
  if (type == "Sequence") return SequenceNormalizer::FromJson(view);
  if (type == "Replace") return ReplaceNormalizer::FromJson(view);
  if (type == "Prepend") return PrependNormalizer::FromJson(view);
  if (type == "Strip") return StripNormalizer::FromJson(view);
  if (type == "BertNormalizer" || type == "Bert") return BertNormalizer::FromJson(view);
  if (type == "Precompiled") return MakePrecompiledNormalizer(view);
  return view.NotOffered("the normalizer type \"" + type + "\" is not supported");
}

}  // namespace mlc
