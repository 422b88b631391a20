#include "text/unicode/grapheme.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/unicode/unicode_tables.gen.h"

namespace mlc {
namespace {

namespace tables = unicode_tables;

// In the order of the generated table.
enum Break : uint8_t {
  kOther,
  kCr,
  kLf,
  kControl,
  kExtend,
  kZwj,
  kRegional,
  kPrepend,
  kSpacingMark,
  kL,
  kV,
  kT,
  kLv,
  kLvt,
};
enum Conjunct : uint8_t { kNone, kConsonant, kLinker, kConjunctExtend };

uint32_t LookUp(const uint32_t* starts, size_t size, char32_t c) {
  return std::upper_bound(starts, starts + size, (c << 5) | 31)[-1] & 31;
}

struct CharInfo {
  explicit CharInfo(char32_t c) {
    uint32_t value = LookUp(tables::kGraphemeBreakStarts, tables::kGraphemeBreakStartsSize, c);
    kind = static_cast<Break>(value & 15);
    pictographic = value >> 4;
    if (kind == kLvt && (c - 0xAC00) % 28 == 0) kind = kLv;
    conjunct = static_cast<Conjunct>(
        LookUp(tables::kConjunctBreakStarts, tables::kConjunctBreakStartsSize, c));
  }
  Break kind;
  bool pictographic;
  Conjunct conjunct;
};

// The state of the cluster so far, as far as the rules need it.
class ClusterState {
 public:
  explicit ClusterState(const CharInfo& first) : last_(first.kind) { Add(first); }

  // True when `next` belongs to the cluster too.
  bool Joins(const CharInfo& next) const {
    Break a = last_, b = next.kind;
    if (a == kCr && b == kLf) return true;
    auto is_control = [](Break k) { return k == kCr || k == kLf || k == kControl; };
    if (is_control(a) || is_control(b)) return false;
    if (a == kL && (b == kL || b == kV || b == kLv || b == kLvt)) return true;
    if ((a == kLv || a == kV) && (b == kV || b == kT)) return true;
    if ((a == kLvt || a == kT) && b == kT) return true;
    if (b == kExtend || b == kZwj || b == kSpacingMark || a == kPrepend) return true;
    if (linked_ && next.conjunct == kConsonant) return true;
    if (a == kZwj && after_pictographic_ && next.pictographic) return true;
    return a == kRegional && b == kRegional && odd_regional_;
  }

  void Add(const CharInfo& next) {
    last_ = next.kind;
    odd_regional_ = next.kind == kRegional && !odd_regional_;
    after_pictographic_ =
        next.pictographic || (after_pictographic_ && (next.kind == kExtend || next.kind == kZwj));
    if (next.conjunct == kConsonant) {
      consonant_ = true;
      linked_ = false;
    } else if (next.conjunct == kLinker) {
      linked_ = consonant_;
    } else if (next.conjunct == kNone) {
      consonant_ = linked_ = false;
    }
  }

 private:
  Break last_;
  bool odd_regional_ = false;        // an odd number of regional indicators directly before
  bool after_pictographic_ = false;  // after a pictograph and extending characters
  bool consonant_ = false;           // after an Indic consonant and extending characters
  bool linked_ = false;              // a linker is among them
};

}  // namespace

size_t GraphemeEnd(std::string_view text, size_t pos) {
  char32_t c = DecodeUtf8(text, &pos);
  bool plain_ascii =
      c < 0x80 && c != '\r' && (pos == text.size() || static_cast<unsigned char>(text[pos]) < 0x80);
  if (plain_ascii) return pos;
  ClusterState state{CharInfo(c)};
  while (pos < text.size()) {
    size_t next = pos;
    CharInfo info(DecodeUtf8(text, &next));
    if (!state.Joins(info)) break;
    state.Add(info);
    pos = next;
  }
  return pos;
}

}  // namespace mlc
