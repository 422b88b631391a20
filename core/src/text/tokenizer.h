// Text to token ids and back, as a Hugging Face `tokenizer.json` says.
//
// Ids and decoded text equal those of the `tokenizers` package for BPE (byte-level and with byte
// fallback), Unigram, WordPiece and WordLevel models, with their normalizers, pre-tokenizers, added
// tokens, post-processors and decoders. A component we do not have is an error that names its place
// in the file; `truncation` and `padding` belong to batching and are not applied.
//
//   MLC_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::FromJson(file_text));
//   MLC_ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer->Encode("Hello world"));
//   std::string text = tokenizer->Decode(ids, /*skip_special_tokens=*/true);
//
// All const functions may be called from several threads at once.
#ifndef MLC_TEXT_TOKENIZER_H_
#define MLC_TEXT_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc {

class DecodeChain;

struct EncodeOptions {
  bool add_special_tokens = false;  // runs the post-processor (BOS, EOS, ...)
  // Marks in the text (MarkSpecialTokens): no special token is found across one, and none is part
  // of what is encoded. "": none.
  std::string_view mark = {};
  // A text that has more is kResourceExhausted with the reason kTooManyTokens, as soon as that is
  // sure: its length alone may tell.
  size_t max_tokens = SIZE_MAX;
};
constexpr const char* kTooManyTokens = "too_many_tokens";

class Tokenizer {
 public:
  // Errors: kInvalidArgument or kCorrupt when the file is damaged, kUnsupported when it names a
  // component we do not run; `param` is the path of the field ("pre_tokenizer.pretokenizers[1]").
  static Result<std::unique_ptr<Tokenizer>> FromJson(std::string_view tokenizer_json);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // The token ids of `text`; invalid UTF-8 counts as U+FFFD. Texts of added tokens ("<|im_end|>")
  // become their ids. `add_special_tokens` runs the post-processor (BOS, EOS, ...).
  // Errors: kInvalidArgument for a character that the model has no token and no unknown token for;
  // kResourceExhausted when a hostile split pattern runs out of steps.
  Result<std::vector<int32_t>> Encode(std::string_view text, bool add_special_tokens = false) const;
  Result<std::vector<int32_t>> Encode(std::string_view text, const EncodeOptions& options) const;

  // `text` with `mark`, a character that is not in it, behind the first character of each text of a
  // special token, and of what the text's end has of one. Encoded with that mark it has none of
  // them but those of `shown`, and the same tokens otherwise.
  std::string MarkSpecialTokens(std::string_view text, std::string_view mark,
                                const std::vector<int32_t>& shown = {}) const;

  // Valid UTF-8. Ids that name no token are left out.
  std::string Decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const;

  // One more than the largest id, added tokens included. Ids in between may name no token.
  int32_t vocab_size() const;
  std::optional<int32_t> TokenToId(std::string_view token) const;
  // The token as the file writes it ("Ġthe", "▁the", "<0x0A>"); "" when the id names none.
  const std::string& IdToToken(int32_t id) const;
  // The raw bytes that the token adds inside a text: " the", "\n", or half a code point. Text-start
  // rules (a first space that is dropped) are left out. "" when the id names no token.
  const std::string& TokenBytes(int32_t id) const;
  bool HasToken(int32_t id) const;
  // True for tokens that Decode leaves out when skip_special_tokens is set.
  bool IsSpecial(int32_t id) const;

  // The decoder at the start of a sequence, for StreamDecoder to copy.
  const DecodeChain& decode_chain() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace mlc

#endif  // MLC_TEXT_TOKENIZER_H_
