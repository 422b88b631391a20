// Added tokens: tokens like "<|im_end|>" that are found in the text before the model sees it.
#pragma once

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

// `text` without any `mark`.
std::string WithoutMark(std::string text, std::string_view mark);

class AddedTokens {
 public:
  // Reads the file's "added_tokens". As in the reference, a token that the model knows has the
  // model's id; otherwise it gets the next free id, whatever "id" says. `normalizer` may be
  // nullptr.
  static Result<AddedTokens> FromJson(const JsonView& file, const Vocabulary& vocabulary,
                                      const Normalizer* normalizer);

  // Normalizes the input and separates the tokens: first the tokens in the original text; then, in
  // the rest, the tokens in the normalized text. With a `mark` (Tokenizer::MarkSpecialTokens), a
  // special token that contains the mark is plain text, and the pieces do not contain the mark.
  Status Split(std::string_view text, const Normalizer* normalizer, std::vector<Piece>* out,
               std::string_view mark = {}) const;

  // Tokenizer::MarkSpecialTokens.
  std::string MarkSpecial(std::string_view text, std::string_view mark,
                          const std::vector<int32_t>& shown) const;

  std::optional<int32_t> TokenToId(const std::string& content) const;
  // The text from which decoding starts: the normalized content if it differs. nullptr if there is
  // no such token.
  const std::string* IdToToken(int32_t id) const;
  bool IsSpecial(const std::string& token) const { return special_.count(token) > 0; }
  int32_t max_id() const { return tokens_.empty() ? -1 : tokens_.rbegin()->first; }

 private:
  Status Add(const AddedToken& token, const Vocabulary& vocabulary, const Normalizer* normalizer);
  Status BuildTries(const JsonView& list);
  void SplitByTrie(const ByteTrie& trie, const Piece& piece, std::vector<Piece>* out,
                   std::string_view mark) const;
  // Whether a special token that is not in `shown` begins at `pos`. A token that the end of the
  // text cuts off counts too.
  bool BeginsSpecial(std::string_view text, size_t pos, const std::vector<int32_t>& shown) const;

  std::map<int32_t, AddedToken> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_map<int32_t, std::string> normalized_;  // only if it differs from the content
  std::unordered_set<std::string> special_;
  ByteTrie plain_trie_, normalized_trie_;
  ByteTrie special_trie_;  // special tokens, in their original and in their normalized form
  int32_t next_id_ = 0;
};

}  // namespace mlc
