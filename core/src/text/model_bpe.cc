// Byte pair encoding: joins the characters of a word pair by pair, in the order in which the pairs
// were learnt.
#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>

#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/model.h"
#include "text/word_cache.h"

namespace mlc {
namespace {

struct Merge {
  int32_t rank;
  int32_t new_id;
};

// A hash table from (left id, right id) to Merge, with open addressing, because encoding spends
// most of its time in this look-up. It is built once and is at most half full.
class MergeTable {
 public:
  void Build(const std::vector<std::pair<uint64_t, Merge>>& merges) {
    size_t capacity = 16;
    while (capacity < merges.size() * 2) capacity *= 2;
    mask_ = capacity - 1;
    keys_.assign(capacity, kEmpty);
    values_.resize(capacity);
    for (const auto& [key, merge] : merges) {
      size_t slot = SlotOf(key);
      keys_[slot] = key;
      values_[slot] = merge;  // the last of equal pairs counts
    }
  }
  const Merge* Find(int32_t left, int32_t right) const {
    uint64_t key = Key(left, right);
    size_t slot = SlotOf(key);
    return keys_[slot] == key ? &values_[slot] : nullptr;
  }
  static uint64_t Key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  size_t SlotOf(uint64_t key) const {
    size_t slot = (key * 0x9E3779B97F4A7C15u >> 20) & mask_;
    while (keys_[slot] != kEmpty && keys_[slot] != key) slot = (slot + 1) & mask_;
    return slot;
  }
  size_t mask_ = 0;
  std::vector<uint64_t> keys_;
  std::vector<Merge> values_;
};

// The symbols of one word, as a linked list. A symbol that was joined to its left neighbour is not
// alive any more.
struct Symbol {
  int32_t id;
  int32_t previous, next;
  bool alive;
};

struct Candidate {
  int32_t rank;
  int32_t position;
  int32_t new_id;
  // The queue pops the smallest rank; among equal ranks, the leftmost pair.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

class BpeModel : public TokenModel {
 public:
  static Result<std::unique_ptr<TokenModel>> FromJson(const JsonView& view);
  Status Tokenize(std::string_view piece, std::vector<int32_t>* ids) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  size_t MostBytesOfToken() const override { return most_bytes_; }

 private:
  Status ReadOptions(const JsonView& view);
  Status ReadMerges(const JsonView& view);
  Status AddMerge(const JsonView& place, std::string_view left, std::string_view right,
                  std::vector<std::pair<uint64_t, Merge>>* merges);
  void IndexCharacters();
  void FindMostBytes();
  Status ToSymbols(std::string_view piece, std::vector<Symbol>* symbols) const;
  std::optional<int32_t> CharacterId(std::string_view piece, size_t begin, size_t end) const;
  bool AddBytes(std::string_view text, std::vector<Symbol>* symbols) const;
  std::string Decorated(std::string_view piece, size_t begin, size_t end) const;
  void MergeAll(std::vector<Symbol>* symbols) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  std::string unk_token_, prefix_, suffix_;
  bool has_unk_ = false, fuse_unk_ = false, byte_fallback_ = false, ignore_merges_ = false;
  std::optional<int32_t> unk_id_;
  std::vector<int32_t> character_ids_;             // of the code points below kIndexed; -1: none
  std::array<std::optional<int32_t>, 256> bytes_;  // of "<0x00>".."<0xFF>"
  size_t most_bytes_ = 0;
  WordCache cache_;
};

constexpr char32_t kIndexed = 0x3000;

Result<std::unique_ptr<TokenModel>> BpeModel::FromJson(const JsonView& view) {
  auto model = std::make_unique<BpeModel>();
  MLC_RETURN_IF_ERROR(model->ReadOptions(view));
  MLC_ASSIGN_OR_RETURN(JsonView vocab, view.Member("vocab"));
  MLC_ASSIGN_OR_RETURN(model->vocabulary_, Vocabulary::FromJson(vocab));
  MLC_RETURN_IF_ERROR(model->ReadMerges(view));
  model->IndexCharacters();
  model->FindMostBytes();
  return std::unique_ptr<TokenModel>(std::move(model));
}

// The limit exists only if every part of a text gets a token of its own: nothing is left out, and
// nothing is joined to the unknown token.
void BpeModel::FindMostBytes() {
  bool has_bytes = true, has_byte_letters = true;
  for (int byte = 0; byte < 256; ++byte) {
    auto value = static_cast<unsigned char>(byte);
    has_bytes = has_bytes && byte_fallback_ && bytes_[value].has_value();
    has_byte_letters = has_byte_letters && vocabulary_.TokenToId(ByteLevelChar(value)).has_value();
  }
  if (!has_bytes && !has_byte_letters) return;
  for (int32_t id = 0; id <= vocabulary_.max_id(); ++id) {
    const std::string* token = vocabulary_.IdToToken(id);
    if (token != nullptr) most_bytes_ = std::max(most_bytes_, token->size());
  }
}

Status BpeModel::ReadOptions(const JsonView& view) {
  if (std::optional<JsonView> dropout = view.Optional("dropout")) {
    if (!dropout->json().is_number()) return dropout->Bad("must be a number");
    if (dropout->json().as_double() != 0) {
      return dropout->NotOffered("random merges are for training and are not supported");
    }
  }
  has_unk_ = view.Optional("unk_token").has_value();
  MLC_ASSIGN_OR_RETURN(unk_token_, view.StringOr("unk_token", ""));
  MLC_ASSIGN_OR_RETURN(prefix_, view.StringOr("continuing_subword_prefix", ""));
  MLC_ASSIGN_OR_RETURN(suffix_, view.StringOr("end_of_word_suffix", ""));
  MLC_ASSIGN_OR_RETURN(fuse_unk_, view.BoolOr("fuse_unk", false));
  MLC_ASSIGN_OR_RETURN(byte_fallback_, view.BoolOr("byte_fallback", false));
  MLC_ASSIGN_OR_RETURN(ignore_merges_, view.BoolOr("ignore_merges", false));
  return Status();
}

// Merges are ["a b", ...] in older files and [["a", "b"], ...] in newer ones.
Status BpeModel::ReadMerges(const JsonView& view) {
  MLC_ASSIGN_OR_RETURN(JsonView list, view.Member("merges"));
  if (!list.json().is_array()) return list.Bad("must be an array");
  std::vector<std::pair<uint64_t, Merge>> merges;
  merges.reserve(list.json().as_array().size());
  for (size_t i = 0; i < list.json().as_array().size(); ++i) {
    const Json& item = list.json().as_array()[i];
    if (item.is_string()) {
      std::string_view line = item.as_string();
      if (line.compare(0, 8, "#version") == 0) continue;
      size_t space = line.find(' ');
      if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) {
        return list.Element(i).Bad("must be two tokens with a space between them");
      }
      MLC_RETURN_IF_ERROR(AddMerge(list, line.substr(0, space), line.substr(space + 1), &merges));
    } else {
      bool is_pair = item.is_array() && item.as_array().size() == 2 &&
                     item.as_array()[0].is_string() && item.as_array()[1].is_string();
      if (!is_pair) return list.Element(i).Bad("must be a pair of tokens");
      MLC_RETURN_IF_ERROR(
          AddMerge(list, item.as_array()[0].as_string(), item.as_array()[1].as_string(), &merges));
    }
  }
  merges_.Build(merges);
  return Status();
}

Status BpeModel::AddMerge(const JsonView& place, std::string_view left, std::string_view right,
                          std::vector<std::pair<uint64_t, Merge>>* merges) {
  auto missing = [&](std::string_view token) {
    return place.Bad("the token \"" + std::string(token) + "\" of merge " +
                     std::to_string(merges->size()) + " is not in the vocabulary");
  };
  std::optional<int32_t> left_id = vocabulary_.TokenToId(left);
  if (!left_id) return missing(left);
  std::optional<int32_t> right_id = vocabulary_.TokenToId(right);
  if (!right_id || right.size() < prefix_.size()) return missing(right);
  std::string joined(left);
  joined += right.substr(prefix_.size());
  std::optional<int32_t> new_id = vocabulary_.TokenToId(joined);
  if (!new_id) return missing(joined);
  int32_t rank = static_cast<int32_t>(merges->size());
  merges->push_back({MergeTable::Key(*left_id, *right_id), {rank, *new_id}});
  return Status();
}

void BpeModel::IndexCharacters() {
  if (has_unk_) unk_id_ = vocabulary_.TokenToId(unk_token_);
  for (int byte = 0; byte < 256; ++byte) {
    bytes_[byte] = vocabulary_.TokenToId(ByteToken(static_cast<unsigned char>(byte)));
  }
  character_ids_.assign(kIndexed, -1);
  for (char32_t c = 0; c < kIndexed; ++c) {
    std::string text;
    AppendUtf8(c, &text);
    character_ids_[c] = vocabulary_.TokenToId(text).value_or(-1);
  }
}

Status BpeModel::Tokenize(std::string_view piece, std::vector<int32_t>* ids) const {
  if (cache_.Find(piece, ids)) return Status();
  size_t first = ids->size();
  std::optional<int32_t> whole;
  if (ignore_merges_) whole = vocabulary_.TokenToId(piece);
  if (whole) {
    ids->push_back(*whole);
  } else {
    std::vector<Symbol> symbols;
    MLC_RETURN_IF_ERROR(ToSymbols(piece, &symbols));
    MergeAll(&symbols);
    for (const Symbol& symbol : symbols) {
      if (symbol.alive) ids->push_back(symbol.id);
    }
  }
  cache_.Add(piece, ids->data() + first, ids->data() + ids->size());
  return Status();
}

void PushSymbol(int32_t id, std::vector<Symbol>* symbols) {
  int32_t at = static_cast<int32_t>(symbols->size());
  if (at > 0) symbols->back().next = at;
  symbols->push_back({id, at - 1, -1, true});
}

std::string BpeModel::Decorated(std::string_view piece, size_t begin, size_t end) const {
  std::string text(piece.substr(begin, end - begin));
  if (begin > 0) text.insert(0, prefix_);
  if (end == piece.size()) text += suffix_;
  return text;
}

std::optional<int32_t> BpeModel::CharacterId(std::string_view piece, size_t begin,
                                             size_t end) const {
  if (!prefix_.empty() || !suffix_.empty()) {
    return vocabulary_.TokenToId(Decorated(piece, begin, end));
  }
  size_t pos = begin;
  char32_t c = DecodeUtf8(piece, &pos);
  if (c >= kIndexed) return vocabulary_.TokenToId(piece.substr(begin, end - begin));
  if (character_ids_[c] < 0) return std::nullopt;
  return character_ids_[c];
}

// Adds one token for each byte. Returns false if the vocabulary lacks one of them.
bool BpeModel::AddBytes(std::string_view text, std::vector<Symbol>* symbols) const {
  for (unsigned char byte : text) {
    if (!bytes_[byte]) return false;
  }
  for (unsigned char byte : text) PushSymbol(*bytes_[byte], symbols);
  return true;
}

// A character without a token becomes bytes, or the unknown token, or nothing. An unknown token
// waits until the next known character, so that neighbours can be joined to it. Byte tokens do not
// end the wait, as in the reference.
Status BpeModel::ToSymbols(std::string_view piece, std::vector<Symbol>* symbols) const {
  symbols->reserve(piece.size());
  bool waiting = false;
  for (size_t pos = 0; pos < piece.size();) {
    size_t begin = pos;
    DecodeUtf8(piece, &pos);
    if (std::optional<int32_t> id = CharacterId(piece, begin, pos)) {
      if (waiting) PushSymbol(*unk_id_, symbols);
      waiting = false;
      PushSymbol(*id, symbols);
      continue;
    }
    if (byte_fallback_ && AddBytes(Decorated(piece, begin, pos), symbols)) continue;
    if (!has_unk_) continue;
    if (!unk_id_) {
      return InvalidArgument(
          "the tokenizer has no token for a character of the text and its "
          "unknown token \"" +
          unk_token_ + "\" is not in the vocabulary");
    }
    if (waiting && !fuse_unk_) PushSymbol(*unk_id_, symbols);
    waiting = true;
  }
  if (waiting) PushSymbol(*unk_id_, symbols);
  return Status();
}

// A queue entry is stale if its pair has changed since. As in the reference, a changed pair that
// gives the same token still counts.
void BpeModel::MergeAll(std::vector<Symbol>* symbols) const {
  std::vector<Symbol>& s = *symbols;
  std::vector<Candidate> storage;
  storage.reserve(s.size());
  for (size_t i = 0; i + 1 < s.size(); ++i) {
    const Merge* merge = merges_.Find(s[i].id, s[i + 1].id);
    if (merge) storage.push_back({merge->rank, static_cast<int32_t>(i), merge->new_id});
  }
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(storage));
  auto push = [&](int32_t left, int32_t right) {
    const Merge* merge = merges_.Find(s[left].id, s[right].id);
    if (merge) queue.push({merge->rank, left, merge->new_id});
  };
  while (!queue.empty()) {
    Candidate top = queue.top();
    queue.pop();
    Symbol& left = s[top.position];
    if (!left.alive || left.next < 0) continue;
    Symbol& right = s[left.next];
    const Merge* merge = merges_.Find(left.id, right.id);
    if (merge == nullptr || merge->new_id != top.new_id) continue;
    left.id = top.new_id;
    left.next = right.next;
    right.alive = false;
    if (left.next >= 0) s[left.next].previous = top.position;
    if (left.previous >= 0) push(left.previous, top.position);
    if (left.next >= 0) push(top.position, left.next);
  }
}

}  // namespace

Result<std::unique_ptr<TokenModel>> MakeBpeModel(const JsonView& view) {
  return BpeModel::FromJson(view);
}

}  // namespace mlc
