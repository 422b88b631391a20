// Turns text into token ids and back, as a Hugging Face `tokenizer.json` says.
//
// Ids and decoded text equal those of the `tokenizers` package for BPE (byte-level and with byte
// fallback), Unigram, WordPiece and WordLevel models, with their normalizers, pre-tokenizers, added
// tokens, post-processors and decoders. A component that we do not have is an error with its path
// in the file. `truncation` and `padding` belong to batching and are not applied.
//
//   MLC_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::FromJson(file_text));
//   MLC_ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer->Encode("Hello world"));
//   std::string text = tokenizer->Decode(ids, /*skip_special_tokens=*/true);
//
// All const functions may be called from several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/token_pair.h"

namespace mlc {

class DecodeChain;

struct EncodeOptions {
  bool add_special_tokens = false;  // run the post-processor (BOS, EOS, ...)
  // The mark that MarkSpecialTokens wrote into the text. No special token is found across a mark,
  // and the marks are not encoded. "": none.
  std::string_view mark = {};
  // A text with more tokens gives kResourceExhausted with the reason too_many_tokens, as soon as
  // that is certain: its length alone may be enough.
  size_t max_tokens = SIZE_MAX;
};

class Tokenizer {
 public:
  // Errors: kInvalidArgument or kCorrupt when the file is damaged; kUnsupported when it names a
  // component that we do not run. `param` is the path of the field
  // ("pre_tokenizer.pretokenizers[1]").
  static Result<std::unique_ptr<Tokenizer>> FromJson(std::string_view tokenizer_json);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // The token ids of `text`. Invalid UTF-8 counts as U+FFFD. The texts of added tokens
  // ("<|im_end|>") become their ids. `add_special_tokens` runs the post-processor (BOS, EOS, ...).
  // Errors: kInvalidArgument for a character without a token if there is no unknown token;
  // kResourceExhausted when a hostile split pattern runs out of steps.
  Result<std::vector<int32_t>> Encode(std::string_view text, bool add_special_tokens = false) const;
  Result<std::vector<int32_t>> Encode(std::string_view text, const EncodeOptions& options) const;

  // Two texts as one input, with the special tokens that the post-processor puts around them. The
  // ids are those that Encode gives without special tokens.
  TokenPair Pair(const std::vector<int32_t>& first, const std::vector<int32_t>& second) const;
  // The number of special tokens in a pair.
  size_t NumPairTokens() const { return Pair({}, {}).ids.size(); }

  // Returns `text` with `mark` behind the first character of each special token's text, and of a
  // beginning of such a text at the end. `mark` is a character that `text` does not contain. When
  // the result is encoded with that mark, it has no special tokens except those in `shown`, and
  // otherwise the same tokens.
  std::string MarkSpecialTokens(std::string_view text, std::string_view mark,
                                const std::vector<int32_t>& shown = {}) const;

  // Returns valid UTF-8. Ids that are not tokens are left out.
  std::string Decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const;

  // The largest id + 1, added tokens included. Some smaller ids may not be tokens.
  int32_t vocab_size() const;
  std::optional<int32_t> TokenToId(std::string_view token) const;
  // The token as the file writes it ("Ġthe", "▁the", "<0x0A>"); "" if the id is not a token.
  const std::string& IdToToken(int32_t id) const;
  // The raw bytes that the token adds inside a text: " the", "
  // ", or half a code point. Rules for the start of a text (such as dropping a first space) are not
  // applied. "" if the id is not a token.
  const std::string& TokenBytes(int32_t id) const;
  bool HasToken(int32_t id) const;
  // Whether Decode leaves the token out when skip_special_tokens is set.
  bool IsSpecial(int32_t id) const;

  // The decoder at the start of a sequence. StreamDecoder copies it.
  const DecodeChain& decode_chain() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace mlc
