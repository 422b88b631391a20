#include "text/unicode/unicode_normalize.h"

#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "text/unicode/unicode_tables.gen.h"

namespace mlc {
namespace {

namespace tables = unicode_tables;

// Hangul syllables are composed by arithmetic (Unicode, 3.12).
constexpr char32_t kSBase = 0xAC00, kLBase = 0x1100, kVBase = 0x1161, kTBase = 0x11A7;
constexpr char32_t kLCount = 19, kVCount = 21, kTCount = 28;
constexpr char32_t kSCount = kLCount * kVCount * kTCount;

struct Char {
  char32_t code_point;
  uint8_t combining_class;
  // How many old characters it replaces; 0 for a character that a decomposition adds. When marks
  // change places, the reference keeps this number at its place, so the alignment follows the
  // order.
  // when marks change places, and so aligns by order; 0 for what a decomposition adds.
  uint32_t num_old;
};

uint8_t CombiningClass(char32_t c) {
  if (c < 0x300) return 0;
  const uint32_t* begin = tables::kCombiningClassStarts;
  const uint32_t* end = begin + tables::kCombiningClassStartsSize;
  return std::upper_bound(begin, end, (c << 8) | 0xFF)[-1] & 0xFF;
}

// The row of the full decomposition: code point, offset << 8 | length << 1 | compatibility.
const uint32_t* FindDecomposition(char32_t c, bool compatibility) {
  size_t low = 0, high = tables::kDecompositionsSize / 2;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (tables::kDecompositions[2 * middle] < c) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const uint32_t* row = tables::kDecompositions + 2 * low;
  const uint32_t* end = tables::kDecompositions + tables::kDecompositionsSize;
  if (row == end || row[0] != c) return nullptr;
  bool has_second = row + 2 != end && row[2] == c;
  if (compatibility) return has_second ? row + 2 : row;
  return (row[1] & 1) ? nullptr : row;
}

void Put(char32_t c, uint32_t num_old, std::vector<Char>* out) {
  out->push_back({c, CombiningClass(c), num_old});
}

void Decompose(char32_t c, bool compatibility, std::vector<Char>* out) {
  if (c < 0xA0) return Put(c, 1, out);
  if (c >= kSBase && c < kSBase + kSCount) {
    char32_t index = c - kSBase;
    Put(kLBase + index / (kVCount * kTCount), 1, out);
    Put(kVBase + index % (kVCount * kTCount) / kTCount, 0, out);
    if (index % kTCount != 0) Put(kTBase + index % kTCount, 0, out);
    return;
  }
  const uint32_t* row = FindDecomposition(c, compatibility);
  if (row == nullptr) return Put(c, 1, out);
  const uint32_t* pool = tables::kDecompositionPool + (row[1] >> 8);
  for (uint32_t i = 0; i < (row[1] >> 1 & 0x7F); ++i) Put(pool[i], i == 0, out);
}

// Canonical ordering: the marks between two starters are sorted by class.
void Reorder(std::vector<Char>* chars) {
  for (size_t begin = 0; begin < chars->size();) {
    size_t end = begin;
    while (end < chars->size() && (*chars)[end].combining_class != 0) ++end;
    std::stable_sort(
        chars->begin() + begin, chars->begin() + end,
        [](const Char& a, const Char& b) { return a.combining_class < b.combining_class; });
    begin = end + 1;
  }
}

// 0 if the pair does not compose.
char32_t Composed(char32_t a, char32_t b) {
  if (a >= kLBase && a < kLBase + kLCount && b >= kVBase && b < kVBase + kVCount) {
    return kSBase + ((a - kLBase) * kVCount + (b - kVBase)) * kTCount;
  }
  bool is_lv = a >= kSBase && a < kSBase + kSCount && (a - kSBase) % kTCount == 0;
  if (is_lv && b > kTBase && b < kTBase + kTCount) return a + (b - kTBase);
  size_t low = 0, high = tables::kCompositionsSize / 3;
  while (low < high) {
    size_t middle = (low + high) / 2;
    const uint32_t* row = tables::kCompositions + 3 * middle;
    if (row[0] < a || (row[0] == a && row[1] < b)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const uint32_t* row = tables::kCompositions + 3 * low;
  bool found = low < tables::kCompositionsSize / 3 && row[0] == a && row[1] == b;
  return found ? row[2] : 0;
}

// Joins each character to the last starter, unless a character between them blocks it.
void Compose(std::vector<Char>* chars) {
  size_t out = 0, starter = 0;
  bool has_starter = false;
  int last_class = 0;  // class of the character between the starter and here; 0 if there is none
  for (size_t i = 0; i < chars->size(); ++i) {
    Char c = (*chars)[i];
    bool adjacent = has_starter && out == starter + 1;
    bool blocked = !adjacent && last_class >= c.combining_class;
    if (has_starter && !blocked) {
      char32_t joined = Composed((*chars)[starter].code_point, c.code_point);
      if (joined != 0) {
        (*chars)[starter].code_point = joined;
        (*chars)[starter].num_old += c.num_old;
        continue;
      }
    }
    if (c.combining_class == 0) {
      has_starter = true;
      starter = out;
    }
    last_class = c.combining_class;
    (*chars)[out++] = c;
  }
  chars->resize(out);
}

// True if the form certainly leaves the text unchanged. U+0300, the first character that NFC can
// change or join, starts with the byte 0xCC.
bool IsSurelyNormal(bool is_nfc, std::string_view text) {
  unsigned char limit = is_nfc ? 0xCC : 0x80;
  return std::all_of(text.begin(), text.end(), [limit](char c) {
    unsigned char byte = static_cast<unsigned char>(c);
    return byte < limit;
  });
}

}  // namespace

void NormalizeUnicode(NormalizationForm form, Piece* piece) {
  bool composes = form == NormalizationForm::kNfc || form == NormalizationForm::kNfkc;
  bool compatibility = form == NormalizationForm::kNfkc || form == NormalizationForm::kNfkd;
  if (IsSurelyNormal(composes && !compatibility, piece->text)) return;
  std::vector<Char> chars;
  chars.reserve(piece->text.size());
  for (size_t pos = 0; pos < piece->text.size();) {
    Decompose(DecodeUtf8(piece->text, &pos), compatibility, &chars);
  }
  Reorder(&chars);
  if (composes) Compose(&chars);
  PieceRewriter rewriter(piece);
  size_t old_pos = 0;
  for (const Char& c : chars) {
    std::string text;
    AppendUtf8(c.code_point, &text);
    size_t old_begin = old_pos;
    for (uint32_t i = 0; i < c.num_old; ++i) DecodeUtf8(piece->text, &old_pos);
    c.num_old == 0 ? rewriter.Insert(text) : rewriter.Replace(text, old_pos - old_begin);
  }
  rewriter.Finish();
}

}  // namespace mlc
