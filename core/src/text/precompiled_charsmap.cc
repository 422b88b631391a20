// SentencePiece's normalization rules, compiled into a double-array trie: a little-endian length,
// the trie's units, and a pool of replacement texts that end in a zero byte. The trie's values are
// offsets in the pool.
//
// The layout of a unit is that of darts-clone (github.com/s-yata/darts-clone).
#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "text/normalizer.h"
#include "text/unicode/grapheme.h"

namespace mlc {
namespace {

// -1 if it is not a digit of base 64.
int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

bool DecodeBase64(std::string_view text, std::string* out) {
  if (text.size() % 4 != 0) return false;
  for (int padding = 0; padding < 2 && !text.empty() && text.back() == '='; ++padding) {
    text.remove_suffix(1);
  }
  uint32_t bits = 0;
  int num_bits = 0;
  for (char c : text) {
    int digit = Base64Digit(c);
    if (digit < 0) return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    out->push_back(static_cast<char>(bits >> num_bits & 0xFF));
  }
  return true;
}

class PrecompiledNormalizer : public Normalizer {
 public:
  static Result<std::unique_ptr<Normalizer>> FromJson(const JsonView& view);
  Status Apply(Piece* piece) const override;

 private:
  bool Parse(std::string_view blob);
  // Finds the replacement of the shortest rule that `key` begins with.
  bool Find(std::string_view key, std::string_view* replacement) const;
  uint32_t Unit(uint32_t position) const { return position < units_.size() ? units_[position] : 0; }
  void ApplyToCluster(std::string_view cluster, PieceRewriter* rewriter) const;

  std::vector<uint32_t> units_;
  std::string pool_;
};

// Replaces `old_text`: characters are paired from the left; the rest is added or removed. A
// character that is removed before the first written one is not counted, as in the reference.
void Rewrite(std::string_view old_text, std::string_view new_text, PieceRewriter* rewriter) {
  if (new_text.empty() && rewriter->empty()) return;
  size_t old_pos = 0, new_pos = 0;
  while (new_pos < new_text.size()) {
    size_t old_begin = old_pos, new_begin = new_pos;
    DecodeUtf8(new_text, &new_pos);
    std::string_view c = new_text.substr(new_begin, new_pos - new_begin);
    if (old_begin == old_text.size()) {
      rewriter->Insert(c);
    } else {
      DecodeUtf8(old_text, &old_pos);
      rewriter->Replace(c, old_pos - old_begin);
    }
  }
  rewriter->Drop(old_text.size() - old_pos);
}

Result<std::unique_ptr<Normalizer>> PrecompiledNormalizer::FromJson(const JsonView& view) {
  MLC_ASSIGN_OR_RETURN(std::string text, view.String("precompiled_charsmap"));
  auto self = std::make_unique<PrecompiledNormalizer>();
  std::string blob;
  if (!DecodeBase64(text, &blob)) return view.Bad("precompiled_charsmap is not base 64");
  if (!self->Parse(blob)) return view.Bad("precompiled_charsmap is damaged");
  return std::unique_ptr<Normalizer>(std::move(self));
}

bool PrecompiledNormalizer::Parse(std::string_view blob) {
  auto word = [blob](size_t at) {
    uint32_t value = 0;
    for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(blob[at + i]);
    return value;
  };
  if (blob.size() < 4) return false;
  size_t num_units = word(0) / 4;
  if (num_units == 0 || blob.size() / 4 < num_units + 1) return false;
  for (size_t i = 1; i <= num_units; ++i) units_.push_back(word(4 * i));
  pool_ = blob.substr(4 * (num_units + 1));
  return IsValidUtf8(pool_);
}

bool PrecompiledNormalizer::Find(std::string_view key, std::string_view* replacement) const {
  auto offset_of = [](uint32_t unit) { return unit >> 10 << ((unit & (1u << 9)) >> 6); };
  uint32_t position = offset_of(Unit(0));
  for (unsigned char byte : key) {
    if (byte == 0) return false;
    position ^= byte;
    uint32_t unit = Unit(position);
    if ((unit & (1u << 31 | 0xFF)) != byte) return false;
    position ^= offset_of(unit);
    bool has_value = unit >> 8 & 1;
    if (!has_value) continue;
    size_t begin = Unit(position) & 0x7FFFFFFF;
    if (begin >= pool_.size() || (pool_[begin] & 0xC0) == 0x80) return false;
    size_t end = std::min(pool_.find('\0', begin), pool_.size());
    *replacement = std::string_view(pool_).substr(begin, end - begin);
    return true;
  }
  return false;
}

Status PrecompiledNormalizer::Apply(Piece* piece) const {
  PieceRewriter rewriter(piece);
  std::string_view text = piece->text;
  for (size_t pos = 0; pos < text.size();) {
    size_t end = GraphemeEnd(text, pos);
    ApplyToCluster(text.substr(pos, end - pos), &rewriter);
    pos = end;
  }
  rewriter.Finish();
  return Status();
}

// A short cluster is looked up as a whole. The shortest rule wins, so the first character alone may
// decide and the rest is lost. Models are trained with this behaviour, and the reference has it
// too.
void PrecompiledNormalizer::ApplyToCluster(std::string_view cluster,
                                           PieceRewriter* rewriter) const {
  constexpr size_t kShortCluster = 6;
  std::string_view replacement;
  if (cluster.size() < kShortCluster && Find(cluster, &replacement)) {
    return Rewrite(cluster, replacement, rewriter);
  }
  for (size_t pos = 0; pos < cluster.size();) {
    size_t begin = pos;
    DecodeUtf8(cluster, &pos);
    std::string_view c = cluster.substr(begin, pos - begin);
    if (Find(c, &replacement)) {
      Rewrite(c, replacement, rewriter);
    } else {
      rewriter->Replace(c, c.size());
    }
  }
}

}  // namespace

Result<std::unique_ptr<Normalizer>> MakePrecompiledNormalizer(const JsonView& view) {
  return PrecompiledNormalizer::FromJson(view);
}

}  // namespace mlc
