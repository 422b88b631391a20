#include "text/added_tokens.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/unicode/unicode.h"

namespace mlc {
namespace {

constexpr size_t kMaxContentBytes = 4096;  // limits the cost of one position of the text

bool EndsWithWord(std::string_view text) {
  if (text.empty()) return false;
  size_t pos = text.size() - 1;
  while (pos > 0 && (text[pos] & 0xC0) == 0x80) --pos;
  return IsRustWord(DecodeUtf8(text, &pos));
}

bool StartsWithWord(std::string_view text) {
  size_t pos = 0;
  return !text.empty() && IsRustWord(DecodeUtf8(text, &pos));
}

// The beginning of the white space that ends at `pos`, but not before `limit`.
size_t SpaceBegin(std::string_view text, size_t limit, size_t pos) {
  while (pos > limit) {
    size_t before = pos - 1;
    while (before > 0 && (text[before] & 0xC0) == 0x80) --before;
    size_t after = before;
    if (!IsWhiteSpace(DecodeUtf8(text, &after))) break;
    pos = before;
  }
  return std::max(pos, limit);
}

// The end of the white space that begins at a position. Calls must go from left to right. Each
// character is read once, even if many tokens are in one run of spaces.
class SpaceEnds {
 public:
  explicit SpaceEnds(std::string_view text) : text_(text) {}
  size_t After(size_t pos) {
    if (pos >= known_begin_ && pos <= known_end_) return known_end_;
    known_begin_ = known_end_ = pos;
    while (known_end_ < text_.size()) {
      size_t next = known_end_;
      if (!IsWhiteSpace(DecodeUtf8(text_, &next))) break;
      known_end_ = next;
    }
    return known_end_;
  }

 private:
  std::string_view text_;
  size_t known_begin_ = 1, known_end_ = 0;
};

// Whether the token at [begin, end) is marked. The mark divides a token of two or more characters,
// and stands behind a token of one character.
bool IsOneMarked(std::string_view text, size_t begin, size_t end, std::string_view mark) {
  if (mark.empty() || text.substr(end, mark.size()) != mark) return false;
  DecodeUtf8(text, &begin);
  return begin == end;
}

Result<AddedToken> ReadToken(const JsonView& view) {
  AddedToken token;
  MLC_RETURN_IF_ERROR(view.Check(view.Int("id", 0, UINT32_MAX)));
  MLC_ASSIGN_OR_RETURN(token.content, view.String("content"));
  MLC_ASSIGN_OR_RETURN(token.single_word, view.Bool("single_word"));
  MLC_ASSIGN_OR_RETURN(token.lstrip, view.Bool("lstrip"));
  MLC_ASSIGN_OR_RETURN(token.rstrip, view.Bool("rstrip"));
  MLC_ASSIGN_OR_RETURN(token.normalized, view.Bool("normalized"));
  MLC_ASSIGN_OR_RETURN(token.special, view.Bool("special"));
  if (token.content.size() > kMaxContentBytes) return view.Bad("content is over 4 KiB");
  return token;
}

}  // namespace

std::string WithoutMark(std::string text, std::string_view mark) {
  size_t at = mark.empty() ? std::string::npos : text.find(mark);
  if (at == std::string::npos) return text;
  std::string out;
  size_t done = 0;
  for (; at != std::string::npos; at = text.find(mark, done)) {
    out.append(text, done, at - done);
    done = at + mark.size();
  }
  return out.append(text, done);
}

Result<AddedTokens> AddedTokens::FromJson(const JsonView& file, const Vocabulary& vocabulary,
                                          const Normalizer* normalizer) {
  AddedTokens self;
  self.next_id_ = vocabulary.num_tokens();
  if (!file.Optional("added_tokens")) return self;
  MLC_ASSIGN_OR_RETURN(std::vector<JsonView> list, file.Array("added_tokens"));
  for (const JsonView& view : list) {
    MLC_ASSIGN_OR_RETURN(AddedToken token, ReadToken(view));
    if (!token.content.empty()) MLC_RETURN_IF_ERROR(self.Add(token, vocabulary, normalizer));
  }
  MLC_ASSIGN_OR_RETURN(JsonView place, file.Member("added_tokens"));
  MLC_RETURN_IF_ERROR(self.BuildTries(place));
  return self;
}

Status AddedTokens::Add(const AddedToken& token, const Vocabulary& vocabulary,
                        const Normalizer* normalizer) {
  std::optional<int32_t> id = TokenToId(token.content);
  if (!id) id = vocabulary.TokenToId(token.content);
  if (!id) id = next_id_++;
  if (token.normalized && normalizer != nullptr) {
    Piece piece = Piece::OfInput(token.content);
    MLC_RETURN_IF_ERROR(normalizer->Apply(&piece));
    if (piece.text != token.content) normalized_[*id] = piece.text;
  }
  ids_[token.content] = *id;
  if (token.special) special_.insert(token.content);
  tokens_[*id] = token;
  return Status();
}

Status AddedTokens::BuildTries(const JsonView& list) {
  std::vector<std::pair<std::string_view, int32_t>> plain, normalized, special;
  for (const auto& [id, token] : tokens_) {
    std::string_view content = token.normalized ? *IdToToken(id) : token.content;
    if (content.empty()) return list.Bad("\"" + token.content + "\" is empty once normalized");
    (token.normalized ? normalized : plain).emplace_back(content, id);
    if (token.special) special.emplace_back(token.content, id);
    if (token.special && content != token.content) special.emplace_back(content, id);
  }
  special_trie_.Build(std::move(special));
  bool all_different = plain_trie_.Build(std::move(plain));
  all_different = normalized_trie_.Build(std::move(normalized)) && all_different;
  return all_different ? Status() : list.Bad("two tokens are equal once normalized");
}

std::optional<int32_t> AddedTokens::TokenToId(const std::string& content) const {
  auto found = ids_.find(content);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string* AddedTokens::IdToToken(int32_t id) const {
  auto token = tokens_.find(id);
  if (token == tokens_.end()) return nullptr;
  auto normalized = normalized_.find(id);
  return normalized == normalized_.end() ? &token->second.content : &normalized->second;
}

Status AddedTokens::Split(std::string_view text, const Normalizer* normalizer,
                          std::vector<Piece>* out, std::string_view mark) const {
  std::vector<Piece> parts;
  SplitByTrie(plain_trie_, Piece::OfInput(text), &parts, mark);
  for (Piece& part : parts) {
    if (part.id >= 0) {
      out->push_back(std::move(part));
      continue;
    }
    if (normalizer != nullptr) MLC_RETURN_IF_ERROR(normalizer->Apply(&part));
    SplitByTrie(normalized_trie_, part, out, mark);
  }
  if (mark.empty()) return Status();
  for (Piece& piece : *out) piece.text = WithoutMark(std::move(piece.text), mark);
  return Status();
}

bool AddedTokens::BeginsSpecial(std::string_view text, size_t pos,
                                const std::vector<int32_t>& shown) const {
  uint32_t node = ByteTrie::kRoot;
  for (; pos < text.size(); ++pos) {
    node = special_trie_.Child(node, static_cast<unsigned char>(text[pos]));
    if (node == ByteTrie::kNone) return false;
    int32_t id = special_trie_.ValueAt(node);
    bool is_shown = std::find(shown.begin(), shown.end(), id) != shown.end();
    if (id != ByteTrie::kNoValue && !is_shown) return true;
  }
  return node != ByteTrie::kRoot;
}

std::string AddedTokens::MarkSpecial(std::string_view text, std::string_view mark,
                                     const std::vector<int32_t>& shown) const {
  std::string out;
  size_t done = 0;
  for (size_t pos = 0; pos < text.size();) {
    if (!special_trie_.CanBegin(text[pos]) || !BeginsSpecial(text, pos, shown)) {
      ++pos;
      continue;
    }
    DecodeUtf8(text, &pos);
    out.append(text, done, pos - done).append(mark);
    done = pos;
  }
  return out.append(text, done);
}

// Finds the leftmost, then longest matches. A match may include the white space around it. The
// search continues directly behind the token itself, as in the reference.
void AddedTokens::SplitByTrie(const ByteTrie& trie, const Piece& piece, std::vector<Piece>* out,
                              std::string_view mark) const {
  std::string_view text = piece.text;
  // An added token keeps no text, because many tokens may share one run of spaces.
  auto add_token = [&](size_t begin, size_t end, int32_t id) {
    if (begin >= end) return;
    out->emplace_back();
    out->back().id = id;
  };
  auto add_text = [&](size_t begin, size_t end) {
    if (begin < end) out->push_back(piece.Slice(begin, end));
  };
  size_t done = 0;
  SpaceEnds spaces(text);
  for (size_t pos = 0; pos < text.size() && !trie.empty();) {
    if (!trie.CanBegin(text[pos])) {
      ++pos;
      continue;
    }
    int32_t id = -1;
    size_t begin = pos, end = trie.LongestAt(text, pos, &id);
    if (end == pos) {
      ++pos;
      continue;
    }
    pos = end;
    const AddedToken& token = tokens_.at(id);
    bool inside_word = EndsWithWord(text.substr(0, begin)) || StartsWithWord(text.substr(end));
    if (token.single_word && inside_word) continue;
    if (token.special && IsOneMarked(text, begin, end, mark)) continue;
    if (token.lstrip) begin = SpaceBegin(text, done, begin);
    if (token.rstrip) end = spaces.After(end);
    add_text(done, begin);
    add_token(begin, end, id);
    done = end;
  }
  add_text(done, text.size());
}

}  // namespace mlc
