// Models that take whole words: WordLevel looks a word up, WordPiece divides it greedily into the
// longest tokens.
#include "base/utf8.h"
#include "text/byte_trie.h"
#include "text/model.h"

namespace mlc {
namespace {

// The common part: a vocabulary, and a token for unknown words.
class WordModel : public TokenModel {
 public:
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 protected:
  Status Read(const JsonView& view) {
    MLC_ASSIGN_OR_RETURN(JsonView vocab, view.Member("vocab"));
    MLC_ASSIGN_OR_RETURN(vocabulary_, Vocabulary::FromJson(vocab));
    MLC_ASSIGN_OR_RETURN(unk_token_, view.String("unk_token"));
    unk_id_ = vocabulary_.TokenToId(unk_token_);
    return Status();
  }
  Status AddUnknown(std::vector<int32_t>* ids) const {
    if (!unk_id_) {
      return InvalidArgument(
          "the tokenizer has no token for a word of the text and its unknown "
          "token \"" +
          unk_token_ + "\" is not in the vocabulary");
    }
    ids->push_back(*unk_id_);
    return Status();
  }
  Vocabulary vocabulary_;

 private:
  std::string unk_token_;
  std::optional<int32_t> unk_id_;
};

class WordLevelModel : public WordModel {
 public:
  static Result<std::unique_ptr<TokenModel>> FromJson(const JsonView& view) {
    auto model = std::make_unique<WordLevelModel>();
    MLC_RETURN_IF_ERROR(model->Read(view));
    return std::unique_ptr<TokenModel>(std::move(model));
  }
  Status Tokenize(std::string_view piece, std::vector<int32_t>* ids) const override {
    std::optional<int32_t> id = vocabulary_.TokenToId(piece);
    if (!id) return AddUnknown(ids);
    ids->push_back(*id);
    return Status();
  }
};

class WordPieceModel : public WordModel {
 public:
  static Result<std::unique_ptr<TokenModel>> FromJson(const JsonView& view) {
    auto model = std::make_unique<WordPieceModel>();
    MLC_RETURN_IF_ERROR(model->Read(view));
    MLC_ASSIGN_OR_RETURN(model->prefix_, view.String("continuing_subword_prefix"));
    MLC_ASSIGN_OR_RETURN(model->max_chars_, view.Int("max_input_chars_per_word", 0, INT64_MAX));
    model->BuildTrie();
    return std::unique_ptr<TokenModel>(std::move(model));
  }

  Status Tokenize(std::string_view piece, std::vector<int32_t>* ids) const override {
    size_t first = ids->size();
    if (NumChars(piece) > max_chars_) return AddUnknown(ids);
    for (size_t pos = 0; pos < piece.size();) {
      uint32_t start = pos == 0 ? ByteTrie::kRoot : continuing_;
      int32_t id = 0;
      size_t end = pos;
      if (start != ByteTrie::kNone) end = trie_.LongestFrom(start, piece, pos, &id);
      if (end == pos) {  // one unknown part makes the whole word unknown
        ids->resize(first);
        return AddUnknown(ids);
      }
      ids->push_back(id);
      pos = end;
    }
    return Status();
  }

 private:
  static int64_t NumChars(std::string_view text) {
    int64_t count = 0;
    for (char c : text) count += (c & 0xC0) != 0x80;
    return count;
  }
  void BuildTrie() {
    std::vector<std::pair<std::string_view, int32_t>> entries;
    for (int32_t id = 0; id <= vocabulary_.max_id(); ++id) {
      const std::string* token = vocabulary_.IdToToken(id);
      if (token != nullptr) entries.emplace_back(*token, *vocabulary_.TokenToId(*token));
    }
    trie_.Build(std::move(entries));
    for (unsigned char byte : prefix_) {
      if (continuing_ != ByteTrie::kNone) continuing_ = trie_.Child(continuing_, byte);
    }
  }

  std::string prefix_;
  int64_t max_chars_ = 0;
  ByteTrie trie_;
  uint32_t continuing_ = ByteTrie::kRoot;  // the node behind the prefix
};

}  // namespace

Result<std::unique_ptr<TokenModel>> MakeWordLevelModel(const JsonView& view) {
  return WordLevelModel::FromJson(view);
}

Result<std::unique_ptr<TokenModel>> MakeWordPieceModel(const JsonView& view) {
  return WordPieceModel::FromJson(view);
}

}  // namespace mlc
