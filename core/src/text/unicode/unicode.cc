#include "text/unicode/unicode.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "text/unicode/unicode_tables.gen.h"

namespace mlc {
namespace {

namespace tables = unicode_tables;

// `pairs` is a flat list of first and last.
bool InPairs(const uint32_t* pairs, size_t size, char32_t c) {
  size_t low = 0, high = size / 2;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (pairs[2 * middle + 1] < c) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < size / 2 && pairs[2 * low] <= c;
}

CodePointRanges FromPairs(const uint32_t* pairs, size_t size) {
  CodePointRanges out;
  for (size_t i = 0; i + 1 < size; i += 2) out.emplace_back(pairs[i], pairs[i + 1]);
  return out;
}

CodePointRanges CategoryRanges(uint32_t mask) {
  CodePointRanges out;
  for (size_t i = 0; i < tables::kCategoryStartsSize; ++i) {
    if (!(mask >> (tables::kCategoryStarts[i] & 31) & 1)) continue;
    bool is_last = i + 1 == tables::kCategoryStartsSize;
    char32_t end = is_last ? 0x110000 : tables::kCategoryStarts[i + 1] >> 5;
    out.emplace_back(tables::kCategoryStarts[i] >> 5, end - 1);
  }
  NormalizeRanges(&out);
  return out;
}

constexpr std::string_view kCategoryNames =
    "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCoCn";

uint32_t CategoryMask(std::string_view lower_name) {
  uint32_t mask = 0;
  for (size_t i = 0; i < kCategoryNames.size(); i += 2) {
    char major = static_cast<char>(kCategoryNames[i] | 0x20), minor = kCategoryNames[i + 1];
    if (lower_name[0] != major) continue;
    if (lower_name.size() == 1 || lower_name[1] == minor) mask |= 1u << (i / 2);
  }
  return mask;
}

struct Script {
  const char* name;
  const uint32_t* pairs;
  size_t size;
};

const Script* FindScript(std::string_view lower_name) {
  static const Script kScripts[] = {
#define MLC_SCRIPT(lower, name) {lower, tables::kScript##name, tables::kScript##name##Size}
      MLC_SCRIPT("arabic", Arabic),
      MLC_SCRIPT("armenian", Armenian),
      MLC_SCRIPT("bengali", Bengali),
      MLC_SCRIPT("cyrillic", Cyrillic),
      MLC_SCRIPT("devanagari", Devanagari),
      MLC_SCRIPT("georgian", Georgian),
      MLC_SCRIPT("greek", Greek),
      MLC_SCRIPT("han", Han),
      MLC_SCRIPT("hangul", Hangul),
      MLC_SCRIPT("hebrew", Hebrew),
      MLC_SCRIPT("hiragana", Hiragana),
      MLC_SCRIPT("katakana", Katakana),
      MLC_SCRIPT("khmer", Khmer),
      MLC_SCRIPT("lao", Lao),
      MLC_SCRIPT("latin", Latin),
      MLC_SCRIPT("myanmar", Myanmar),
      MLC_SCRIPT("tamil", Tamil),
      MLC_SCRIPT("telugu", Telugu),
      MLC_SCRIPT("thai", Thai),
      MLC_SCRIPT("tibetan", Tibetan),
#undef MLC_SCRIPT
  };
  for (const Script& script : kScripts) {
    if (lower_name == script.name) return &script;
  }
  return nullptr;
}

std::string LooseName(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    out += (c >= 'A' && c <= 'Z') ? static_cast<char>(c | 0x20) : c;
  }
  return out;
}

std::string_view LongCategoryName(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"letter", "l"},
      {"uppercaseletter", "lu"},
      {"lowercaseletter", "ll"},
      {"titlecaseletter", "lt"},
      {"modifierletter", "lm"},
      {"otherletter", "lo"},
      {"mark", "m"},
      {"nonspacingmark", "mn"},
      {"number", "n"},
      {"decimalnumber", "nd"},
      {"punctuation", "p"},
      {"symbol", "s"},
      {"mathsymbol", "sm"},
      {"currencysymbol", "sc"},
      {"separator", "z"},
      {"spaceseparator", "zs"},
      {"other", "c"},
      {"control", "cc"},
  };
  for (const auto& [longer, shorter] : kNames) {
    if (name == longer) return shorter;
  }
  return name;
}

// `rows` is a sorted list of first, last, step, delta.
char32_t MapByRuns(const int32_t* rows, size_t size, char32_t c) {
  size_t low = 0, high = size / 4;
  int32_t value = static_cast<int32_t>(c);
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (rows[4 * middle + 1] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == size / 4) return c;
  const int32_t* row = rows + 4 * low;
  bool inside = row[0] <= value && (value - row[0]) % row[2] == 0;
  return inside ? static_cast<char32_t>(value + row[3]) : c;
}

}  // namespace

bool IsWhiteSpace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return InPairs(tables::kWhiteSpace, tables::kWhiteSpaceSize, c);
}
bool IsRustWord(char32_t c) { return InPairs(tables::kRustWord, tables::kRustWordSize, c); }
bool IsNumeric(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return InPairs(tables::kNumeric17, tables::kNumeric17Size, c);
}
bool IsPunctuation(char32_t c) {
  if (c < 0x80)
    return c > ' ' && c < 0x7F && !IsNumeric(c) && ((c | 0x20) < 'a' || (c | 0x20) > 'z');
  return InPairs(tables::kPunctuation8, tables::kPunctuation8Size, c);
}
bool IsOther(char32_t c) { return InPairs(tables::kOther8, tables::kOther8Size, c); }
bool IsNonspacingMark(char32_t c) {
  return c >= 0x300 && InPairs(tables::kNonspacingMark8, tables::kNonspacingMark8Size, c);
}
bool IsCombiningMark(char32_t c) {
  return c >= 0x300 && InPairs(tables::kCombiningMark9, tables::kCombiningMark9Size, c);
}

bool LookUpProperty(std::string_view name, CodePointRanges* out) {
  std::string loose = LooseName(name);
  if (loose == "any") {
    *out = {{0, 0x10FFFF}};
    return true;
  }
  if (const Script* script = FindScript(loose)) {
    *out = FromPairs(script->pairs, script->size);
    return true;
  }
  std::string_view category = LongCategoryName(loose);
  if (category.empty() || category.size() > 2) return false;
  uint32_t mask = CategoryMask(category);
  if (mask == 0) return false;
  *out = CategoryRanges(mask);
  return true;
}

CodePointRanges OnigWordRanges() { return FromPairs(tables::kOnigWord, tables::kOnigWordSize); }
CodePointRanges WhiteSpaceRanges() {
  return FromPairs(tables::kWhiteSpace, tables::kWhiteSpaceSize);
}

char32_t ToLower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  if (c == 0x130) return 'i';
  return MapByRuns(tables::kLowerRuns, tables::kLowerRunsSize, c);
}

void CloseUnderCase(CodePointRanges* ranges) {
  auto contains = [ranges](char32_t c) {
    for (const auto& [first, last] : *ranges) {
      if (first <= c && c <= last) return true;
    }
    return false;
  };
  std::vector<std::pair<char32_t, char32_t>> pairs;  // (c, its fold)
  for (size_t i = 0; i + 3 < tables::kFoldRunsSize; i += 4) {
    const int32_t* row = tables::kFoldRuns + i;
    for (int32_t c = row[0]; c <= row[1]; c += row[2]) pairs.emplace_back(c, c + row[3]);
  }
  std::unordered_set<char32_t> folds;
  for (const auto& [c, fold] : pairs) {
    if (contains(c) || contains(fold)) folds.insert(fold);
  }
  for (const auto& [c, fold] : pairs) {
    if (!folds.count(fold)) continue;
    ranges->emplace_back(c, c);
    ranges->emplace_back(fold, fold);
  }
  NormalizeRanges(ranges);
}

void NormalizeRanges(CodePointRanges* ranges) {
  std::sort(ranges->begin(), ranges->end());
  CodePointRanges out;
  for (const auto& range : *ranges) {
    if (!out.empty() && range.first <= out.back().second + 1) {
      out.back().second = std::max(out.back().second, range.second);
    } else {
      out.push_back(range);
    }
  }
  *ranges = std::move(out);
}

CodePointRanges ComplementRanges(const CodePointRanges& ranges) {
  CodePointRanges out;
  char32_t next = 0;
  for (const auto& [first, last] : ranges) {
    if (first > next) out.emplace_back(next, first - 1);
    next = last + 1;
  }
  if (next <= 0x10FFFF) out.emplace_back(next, 0x10FFFF);
  return out;
}

CodePointRanges IntersectRanges(const CodePointRanges& a, const CodePointRanges& b) {
  CodePointRanges out;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    char32_t first = std::max(a[i].first, b[j].first), last = std::min(a[i].second, b[j].second);
    if (first <= last) out.emplace_back(first, last);
    (a[i].second < b[j].second) ? ++i : ++j;
  }
  return out;
}

}  // namespace mlc
