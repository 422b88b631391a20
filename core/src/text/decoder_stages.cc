#include "text/decoder_stages.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/regex/regex.h"
#include "text/split.h"

namespace mlc {
namespace {

using Output = DecodeStage::Output;

// Implements Clone.
template <typename Self>
class CopyableStage : public DecodeStage {
 public:
  DecodeStagePtr Clone() const override {
    return std::make_unique<Self>(static_cast<const Self&>(*this));
  }
};

// A stage that needs its tokens whole.
template <typename Self>
class TokenStage : public CopyableStage<Self> {
 public:
  void Put(std::string_view fragment, const Output&) override { token_.append(fragment); }
  void EndToken(const Output& out) override {
    TakeToken(std::exchange(token_, std::string()), out);
  }

 protected:
  virtual void TakeToken(std::string token, const Output& out) = 0;

 private:
  std::string token_;
};

class JoinBySpaces : public CopyableStage<JoinBySpaces> {
 public:
  void Put(std::string_view fragment, const Output& out) override {
    if (needs_space_) out.Put(" ");
    needs_space_ = false;
    out.Put(fragment);
  }
  void EndToken(const Output&) override { needs_space_ = true; }
  std::string InsideText(std::string token) const override { return " " + token; }

 private:
  bool needs_space_ = false;
};

// The bytes of all tokens form one text. Invalid UTF-8 in it becomes U+FFFD.
class ByteLevelDecoder : public TokenStage<ByteLevelDecoder> {
 public:
  void Finish(const Output& out) override {
    out.Put(RepairUtf8(std::exchange(pending_, std::string())));
    out.EndToken();
  }
  std::string InsideText(std::string token) const override {
    std::string bytes;
    return FromByteLevel(token, &bytes) ? bytes : token;
  }

 protected:
  void TakeToken(std::string token, const Output& out) override {
    if (!FromByteLevel(token, &pending_)) pending_ += token;
    size_t ready = pending_.size() - IncompleteUtf8Tail(pending_);
    out.Put(RepairUtf8(std::string_view(pending_).substr(0, ready)));
    pending_.erase(0, ready);
  }

 private:
  // at most three bytes: the beginning of a code point that continues in the next token
  std::string pending_;
};

// The value of "<0x0A>", or -1. Like the reference, it accepts a sign as a digit.
int ByteOfToken(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token[5] != '>') return -1;
  int value = 0;
  for (size_t i = token[3] == '+' ? 4 : 3; i < 5; ++i) {
    char c = token[i], lower = static_cast<char>(c | 0x20);
    bool digit = c >= '0' && c <= '9', letter = lower >= 'a' && lower <= 'f';
    if (!digit && !letter) return -1;
    value = value * 16 + (digit ? c - '0' : lower - 'a' + 10);
  }
  return value;
}

// A run of byte tokens is text if all of it is UTF-8. Otherwise each token becomes one U+FFFD. So
// the text is known only at the end of a run.
class ByteFallbackDecoder : public TokenStage<ByteFallbackDecoder> {
 public:
  void Finish(const Output& out) override { Flush(out); }
  std::string InsideText(std::string token) const override {
    int byte = ByteOfToken(token);
    return byte < 0 ? token : std::string(1, static_cast<char>(byte));
  }

 protected:
  void TakeToken(std::string token, const Output& out) override {
    int byte = ByteOfToken(token);
    if (byte >= 0) {
      run_.push_back(static_cast<char>(byte));
      return;
    }
    Flush(out);
    out.PutToken(token);
  }

 private:
  void Flush(const Output& out) {
    std::string run = std::exchange(run_, std::string());
    if (run.empty()) return;
    if (IsValidUtf8(run)) return out.PutToken(run);
    for (size_t i = 0; i < run.size(); ++i) out.PutToken("\xEF\xBF\xBD");
  }
  std::string run_;
};

// Joins all tokens into one token.
class FuseDecoder : public CopyableStage<FuseDecoder> {
 public:
  void Put(std::string_view fragment, const Output& out) override { out.Put(fragment); }
  void EndToken(const Output&) override {}
  void Finish(const Output& out) override { out.EndToken(); }
};

// Removes `content` up to `start` times at the start of each token and up to `stop` times at its
// end.
class StripDecoder : public CopyableStage<StripDecoder> {
 public:
  StripDecoder(char32_t content, size_t start, size_t stop, bool after_fuse)
      : start_(start), stop_(stop), after_fuse_(after_fuse), start_left_(start) {
    AppendUtf8(content, &content_);
  }
  void Put(std::string_view fragment, const Output& out) override {
    while (start_left_ > 0 && fragment.substr(0, content_.size()) == content_) {
      fragment.remove_prefix(content_.size());
      --start_left_;
    }
    if (fragment.empty()) return;
    start_left_ = 0;
    size_t end = fragment.size(), tail = 0;
    while (tail < stop_ && end >= content_.size() &&
           fragment.substr(end - content_.size(), content_.size()) == content_) {
      end -= content_.size();
      ++tail;
    }
    Release(end > 0 ? 0 : (tail < stop_ ? stop_ - tail : 0), out);
    out.Put(fragment.substr(0, end));
    held_ += tail;
  }
  void EndToken(const Output& out) override {
    held_ = 0;
    start_left_ = start_;
    out.EndToken();
  }
  std::string InsideText(std::string token) const override {
    if (after_fuse_) return token;
    std::string_view rest = token;
    for (size_t i = 0; i < start_ && rest.substr(0, content_.size()) == content_; ++i) {
      rest.remove_prefix(content_.size());
    }
    for (size_t i = 0; i < stop_ && EndsWithContent(rest); ++i) {
      rest.remove_suffix(content_.size());
    }
    return std::string(rest);
  }

 private:
  bool EndsWithContent(std::string_view text) const {
    return text.size() >= content_.size() && text.substr(text.size() - content_.size()) == content_;
  }
  // Releases the held text except the last `keep` characters.
  void Release(size_t keep, const Output& out) {
    for (; held_ > keep; --held_) out.Put(content_);
  }
  std::string content_;
  size_t start_, stop_;
  bool after_fuse_;
  size_t start_left_;  // how many may still be removed at the start of this token
  size_t held_ = 0;    // how many are at the end so far and are held back
};

class ReplaceDecoder : public TokenStage<ReplaceDecoder> {
 public:
  ReplaceDecoder(Regex regex, std::string content)
      : regex_(std::move(regex)), content_(std::move(content)) {}
  std::string InsideText(std::string token) const override {
    return IsValidUtf8(token) ? Apply(token) : token;
  }

 protected:
  void TakeToken(std::string token, const Output& out) override { out.PutToken(Apply(token)); }

 private:
  // If a pattern runs out of steps, the token stays unchanged.
  std::string Apply(std::string_view token) const {
    Result<std::vector<Span>> spans = RegexSpans(regex_, token);
    if (!spans.ok() || token.empty()) return std::string(token);
    std::string out;
    for (const Span& span : *spans) {
      out.append(span.is_match ? content_ : token.substr(span.begin, span.end - span.begin));
    }
    return out;
  }
  Regex regex_;
  std::string content_;
};

// A pattern of one character does not need whole tokens. So it streams even behind Fuse.
class ReplaceCharDecoder : public CopyableStage<ReplaceCharDecoder> {
 public:
  ReplaceCharDecoder(std::string wanted, std::string content)
      : wanted_(std::move(wanted)), content_(std::move(content)) {}
  void Put(std::string_view fragment, const Output& out) override { out.Put(Apply(fragment)); }
  void EndToken(const Output& out) override { out.EndToken(); }
  std::string InsideText(std::string token) const override { return Apply(token); }

 private:
  std::string Apply(std::string_view text) const {
    std::string out;
    for (size_t pos = 0; pos < text.size();) {
      size_t found = std::min(text.find(wanted_, pos), text.size());
      out.append(text.substr(pos, found - pos));
      if (found < text.size()) out.append(content_);
      pos = found + wanted_.size();
    }
    return out;
  }
  std::string wanted_, content_;
};

// Turns the replacement character into a space; removes it from the first token.
class MetaspaceDecoder : public CopyableStage<MetaspaceDecoder> {
 public:
  MetaspaceDecoder(char32_t replacement, bool drops_first)
      : to_space_(Utf8(replacement), " "),
        to_nothing_(Utf8(replacement), ""),
        drops_(drops_first) {}
  void Put(std::string_view fragment, const Output& out) override {
    (drops_ ? to_nothing_ : to_space_).Put(fragment, out);
  }
  void EndToken(const Output& out) override {
    drops_ = false;
    out.EndToken();
  }
  std::string InsideText(std::string token) const override {
    return to_space_.InsideText(std::move(token));
  }

 private:
  static std::string Utf8(char32_t c) {
    std::string text;
    AppendUtf8(c, &text);
    return text;
  }
  ReplaceCharDecoder to_space_, to_nothing_;
  bool drops_;
};

void ReplaceAll(std::string_view from, std::string_view to, std::string* text) {
  std::string out;
  size_t pos = 0;
  for (size_t found; (found = text->find(from, pos)) != std::string::npos;) {
    out.append(*text, pos, found - pos).append(to);
    pos = found + from.size();
  }
  *text = out.append(*text, pos, std::string::npos);
}

// Removes the spaces before punctuation and short forms.
std::string CleanUp(std::string text) {
  static constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kRules) ReplaceAll(from, to, &text);
  return text;
}

class WordPieceDecoder : public TokenStage<WordPieceDecoder> {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup)
      : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  std::string InsideText(std::string token) const override { return Convert(token, false); }

 protected:
  void TakeToken(std::string token, const Output& out) override {
    out.PutToken(Convert(token, std::exchange(first_, false)));
  }

 private:
  std::string Convert(std::string token, bool first) const {
    if (!first) {
      bool continues = token.compare(0, prefix_.size(), prefix_) == 0;
      token = continues ? token.substr(prefix_.size()) : " " + token;
    }
    return cleanup_ ? CleanUp(std::move(token)) : token;
  }
  std::string prefix_;
  bool cleanup_;
  bool first_ = true;
};

// Turns the end-of-word suffix into a space; removes it from the last token. So one token is held
// back.
class BpeDecoder : public TokenStage<BpeDecoder> {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void Finish(const Output& out) override {
    if (has_last_) out.PutToken(Convert(last_, ""));
    has_last_ = false;
  }
  std::string InsideText(std::string token) const override { return Convert(token, " "); }

 protected:
  void TakeToken(std::string token, const Output& out) override {
    if (has_last_) out.PutToken(Convert(last_, " "));
    last_ = std::move(token);
    has_last_ = true;
  }

 private:
  std::string Convert(std::string token, std::string_view replacement) const {
    ReplaceAll(suffix_, replacement, &token);
    return token;
  }
  std::string suffix_, last_;
  bool has_last_ = false;
};

}  // namespace

DecodeStagePtr MakeJoinBySpaces() { return std::make_unique<JoinBySpaces>(); }
DecodeStagePtr MakeByteLevelDecoder() { return std::make_unique<ByteLevelDecoder>(); }
DecodeStagePtr MakeByteFallbackDecoder() { return std::make_unique<ByteFallbackDecoder>(); }
DecodeStagePtr MakeFuseDecoder() { return std::make_unique<FuseDecoder>(); }

Result<DecodeStagePtr> MakeStripDecoder(const JsonView& view, bool after_fuse) {
  MLC_ASSIGN_OR_RETURN(char32_t content, view.Character("content"));
  MLC_ASSIGN_OR_RETURN(int64_t start, view.Int("start", 0, INT32_MAX));
  MLC_ASSIGN_OR_RETURN(int64_t stop, view.Int("stop", 0, INT32_MAX));
  return DecodeStagePtr(std::make_unique<StripDecoder>(content, start, stop, after_fuse));
}

Result<DecodeStagePtr> MakeReplaceDecoder(const JsonView& view) {
  MLC_ASSIGN_OR_RETURN(std::string content, view.String("content"));
  MLC_ASSIGN_OR_RETURN(Regex regex, ParsePattern(view));
  MLC_ASSIGN_OR_RETURN(JsonView pattern, view.Member("pattern"));
  MLC_ASSIGN_OR_RETURN(std::string literal, pattern.StringOr("String", ""));
  if (ToCodePoints(literal).size() == 1) {
    return DecodeStagePtr(std::make_unique<ReplaceCharDecoder>(literal, content));
  }
  return DecodeStagePtr(std::make_unique<ReplaceDecoder>(std::move(regex), std::move(content)));
}

Result<DecodeStagePtr> MakeMetaspaceDecoder(const JsonView& view) {
  MLC_ASSIGN_OR_RETURN(char32_t replacement, view.Character("replacement"));
  MLC_ASSIGN_OR_RETURN(bool prefix, view.BoolOr("add_prefix_space", true));
  MLC_ASSIGN_OR_RETURN(std::string scheme, view.StringOr("prepend_scheme", "always"));
  bool known = scheme == "always" || scheme == "first" || scheme == "never";
  if (!known) return view.NotOffered("the prepend_scheme \"" + scheme + "\" is not supported");
  if (!prefix && scheme != "never") {
    return view.Bad("add_prefix_space does not match the declared prepend_scheme");
  }
  return DecodeStagePtr(std::make_unique<MetaspaceDecoder>(replacement, scheme != "never"));
}

Result<DecodeStagePtr> MakeWordPieceDecoder(const JsonView& view) {
  MLC_ASSIGN_OR_RETURN(std::string prefix, view.String("prefix"));
  MLC_ASSIGN_OR_RETURN(bool cleanup, view.Bool("cleanup"));
  return DecodeStagePtr(std::make_unique<WordPieceDecoder>(std::move(prefix), cleanup));
}

Result<DecodeStagePtr> MakeBpeDecoder(const JsonView& view) {
  MLC_ASSIGN_OR_RETURN(std::string suffix, view.String("suffix"));
  if (suffix.empty()) return view.NotOffered("an empty suffix is not supported");
  return DecodeStagePtr(std::make_unique<BpeDecoder>(std::move(suffix)));
}

}  // namespace mlc
