// Tokens that are found in the text before the model sees it: "<|im_end|>" and the like.
#ifndef MLC_TEXT_ADDED_TOKENS_H_
#define MLC_TEXT_ADDED_TOKENS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "text/byte_trie.h"
#include "text/json_view.h"
#include "text/normalizer.h"
#include "text/piece.h"
#include "text/vocabulary.h"

namespace mlc {

struct AddedToken {
  std::string content;
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
};

// `text` with every `mark` taken out.
std::string WithoutMark(std::string text, std::string_view mark);

class AddedTokens {
 public:
  // Reads the file's "added_tokens". As in the reference a token has the model's id when the model
  // knows it, else the next free one, whatever "id" says. `normalizer` may be nullptr.
  static Result<AddedTokens> FromJson(const JsonView& file, const Vocabulary& vocabulary,
                                      const Normalizer* normalizer);

  // Normalizes the input and cuts out the tokens: first those that stand in the text as it is,
  // then, in the rest, those that stand in the normalized text.
  // With a `mark` (Tokenizer::MarkSpecialTokens) special tokens that hold it are text, and no piece
  // has it.
  Status Split(std::string_view text, const Normalizer* normalizer, std::vector<Piece>* out,
               std::string_view mark = {}) const;

  // Tokenizer::MarkSpecialTokens.
  std::string MarkSpecial(std::string_view text, std::string_view mark,
                          const std::vector<int32_t>& shown) const;

  std::optional<int32_t> TokenToId(const std::string& content) const;
  // What decoding starts from: the normalized content if that differs. nullptr: no such token.
  const std::string* IdToToken(int32_t id) const;
  bool IsSpecial(const std::string& token) const { return special_.count(token) > 0; }
  int32_t max_id() const { return tokens_.empty() ? -1 : tokens_.rbegin()->first; }

 private:
  Status Add(const AddedToken& token, const Vocabulary& vocabulary, const Normalizer* normalizer);
  Status BuildTries(const JsonView& list);
  void SplitByTrie(const ByteTrie& trie, const Piece& piece, std::vector<Piece>* out,
                   std::string_view mark) const;
  // Whether a special token that is not `shown` begins at `pos`, or its text ends with a part of
  // it.
  bool BeginsSpecial(std::string_view text, size_t pos, const std::vector<int32_t>& shown) const;

  std::map<int32_t, AddedToken> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_map<int32_t, std::string> normalized_;  // where it differs from the content
  std::unordered_set<std::string> special_;
  ByteTrie plain_trie_, normalized_trie_;
  ByteTrie special_trie_;  // of special tokens as they are written, and as they are normalized
  int32_t next_id_ = 0;
};

}  // namespace mlc

#endif  // MLC_TEXT_ADDED_TOKENS_H_
