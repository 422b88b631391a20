// Unigram: of all ways to divide the text into tokens, it takes the one with the largest sum of
// scores.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/utf8.h"
#include "text/byte_trie.h"
#include "text/model.h"
#include "text/word_cache.h"

namespace mlc {
namespace {

constexpr double kUnknownPenalty = 10;
constexpr size_t kMaxTokenBytes = 1024;  // limits the cost of one position of the text

// The best way to reach a position.
struct Step {
  double score = 0;
  int32_t begin = -1;  // the beginning of its last token; -1: not reached yet
  int32_t id = 0;
};

class UnigramModel : public TokenModel {
 public:
  static Result<std::unique_ptr<TokenModel>> FromJson(const JsonView& view);
  Status Tokenize(std::string_view piece, std::vector<int32_t>* ids) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  Status ReadVocabulary(const JsonView& view);
  Status BuildTrie(const JsonView& place);
  Status FindBest(std::string_view piece, std::vector<Step>* steps) const;
  Status AddToken(std::string_view text, std::vector<int32_t>* ids) const;
  Status MissingUnknown() const {
    return InvalidArgument("the tokenizer has no token for a part of the text and no unk_id");
  }

  Vocabulary vocabulary_;
  std::vector<double> scores_;  // by id
  double min_score_ = std::numeric_limits<double>::infinity();
  ByteTrie trie_;
  std::optional<int32_t> unk_id_;
  bool byte_fallback_ = false;
  std::array<std::optional<int32_t>, 256> bytes_;  // of "<0x00>".."<0xFF>"
  WordCache cache_;
};

Result<std::unique_ptr<TokenModel>> UnigramModel::FromJson(const JsonView& view) {
  auto model = std::make_unique<UnigramModel>();
  MLC_RETURN_IF_ERROR(model->ReadVocabulary(view));
  MLC_ASSIGN_OR_RETURN(model->byte_fallback_, view.BoolOr("byte_fallback", false));
  if (view.Optional("unk_id")) {
    int64_t last = static_cast<int64_t>(model->scores_.size()) - 1;
    MLC_ASSIGN_OR_RETURN(int64_t id, view.Int("unk_id", 0, last));
    model->unk_id_ = static_cast<int32_t>(id);
  }
  for (int byte = 0; byte < 256; ++byte) {
    model->bytes_[byte] = model->vocabulary_.TokenToId(ByteToken(static_cast<unsigned char>(byte)));
  }
  return std::unique_ptr<TokenModel>(std::move(model));
}

// A list of [token, score]. The id of a token is its index in the list.
Status UnigramModel::ReadVocabulary(const JsonView& view) {
  MLC_ASSIGN_OR_RETURN(JsonView list, view.Member("vocab"));
  if (!list.json().is_array()) return list.Bad("must be an array");
  const Json::Array& entries = list.json().as_array();
  for (size_t id = 0; id < entries.size(); ++id) {
    const Json& entry = entries[id];
    bool good = entry.is_array() && entry.as_array().size() == 2 &&
                entry.as_array()[0].is_string() && entry.as_array()[1].is_number();
    if (!good) return list.Element(id).Bad("must be a token and its score");
    const std::string& token = entry.as_array()[0].as_string();
    if (token.size() > kMaxTokenBytes) return list.Element(id).NotOffered("is over 1024 bytes");
    vocabulary_.Add(token, static_cast<int32_t>(id));
    scores_.push_back(entry.as_array()[1].as_double());
    min_score_ = std::min(min_score_, scores_.back());
  }
  return BuildTrie(list);
}

Status UnigramModel::BuildTrie(const JsonView& place) {
  std::vector<std::pair<std::string_view, int32_t>> entries;
  for (int32_t id = 0; id <= vocabulary_.max_id(); ++id) {
    const std::string& token = *vocabulary_.IdToToken(id);
    if (vocabulary_.TokenToId(token) == id) entries.emplace_back(token, id);
  }
  if (!trie_.Build(std::move(entries))) return place.Bad("holds a token twice");
  return Status();
}

// Viterbi's algorithm from left to right. A character without a token of its own may also be
// unknown.
Status UnigramModel::FindBest(std::string_view piece, std::vector<Step>* steps) const {
  const double unknown_score = min_score_ - kUnknownPenalty;
  steps->assign(piece.size() + 1, Step());
  for (size_t begin = 0; begin < piece.size();) {
    const double score_here = (*steps)[begin].score;
    auto offer = [&](size_t end, double score, int32_t id) {
      Step& step = (*steps)[end];
      if (step.begin < 0 || score > step.score) step = {score, static_cast<int32_t>(begin), id};
    };
    size_t next = begin;
    DecodeUtf8(piece, &next);
    bool has_character = false;
    uint32_t node = ByteTrie::kRoot;
    for (size_t end = begin; end < piece.size();) {
      node = trie_.Child(node, static_cast<unsigned char>(piece[end++]));
      if (node == ByteTrie::kNone) break;
      int32_t id = trie_.ValueAt(node);
      if (id == ByteTrie::kNoValue) continue;
      offer(end, scores_[id] + score_here, id);
      has_character = has_character || end == next;
    }
    if (!has_character) {
      bool wins = (*steps)[next].begin < 0 || unknown_score + score_here > (*steps)[next].score;
      if (wins && !unk_id_) return MissingUnknown();
      if (wins) offer(next, unknown_score + score_here, *unk_id_);
    }
    begin = next;
  }
  return Status();
}

Status UnigramModel::Tokenize(std::string_view piece, std::vector<int32_t>* ids) const {
  if (cache_.Find(piece, ids)) return Status();
  std::vector<Step> steps;
  MLC_RETURN_IF_ERROR(FindBest(piece, &steps));
  // The tokens from the last to the first, as (begin, end). Unknown neighbours are joined into one.
  std::vector<std::pair<int32_t, int32_t>> tokens;
  bool after_unknown = false;
  for (int32_t end = static_cast<int32_t>(piece.size()); end > 0;) {
    const Step& step = steps[end];
    bool unknown = unk_id_ && step.id == *unk_id_;
    if (unknown && after_unknown) {
      tokens.back().first = step.begin;
    } else {
      tokens.emplace_back(step.begin, end);
    }
    after_unknown = unknown;
    end = step.begin;
  }
  size_t first = ids->size();
  for (auto token = tokens.rbegin(); token != tokens.rend(); ++token) {
    MLC_RETURN_IF_ERROR(AddToken(piece.substr(token->first, token->second - token->first), ids));
  }
  cache_.Add(piece, ids->data() + first, ids->data() + ids->size());
  return Status();
}

Status UnigramModel::AddToken(std::string_view text, std::vector<int32_t>* ids) const {
  if (std::optional<int32_t> id = vocabulary_.TokenToId(text)) {
    ids->push_back(*id);
    return Status();
  }
  bool as_bytes = byte_fallback_ && std::all_of(text.begin(), text.end(), [this](unsigned char c) {
                    return bytes_[c].has_value();
                  });
  if (as_bytes) {
    for (unsigned char byte : text) ids->push_back(*bytes_[byte]);
    return Status();
  }
  if (!unk_id_) return MissingUnknown();
  ids->push_back(*unk_id_);
  return Status();
}

}  // namespace

Result<std::unique_ptr<TokenModel>> MakeUnigramModel(const JsonView& view) {
  return UnigramModel::FromJson(view);
}

}  // namespace mlc
