// Character properties from the generated tables (codegen/unicode.py lists the Unicode versions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace mlc {

// In the order of the generated table.
enum class Category : uint8_t {
  kLu,
  kLl,
  kLt,
  kLm,
  kLo,
  kMn,
  kMc,
  kMe,
  kNd,
  kNl,
  kNo,
  kPc,
  kPd,
  kPs,
  kPe,
  kPi,
  kPf,
  kPo,
  kSm,
  kSc,
  kSk,
  kSo,
  kZs,
  kZl,
  kZp,
  kCc,
  kCf,
  kCs,
  kCo,
  kCn,
};

// Sorted, disjoint, inclusive.
using CodePointRanges = std::vector<std::pair<char32_t, char32_t>>;

bool IsWhiteSpace(char32_t c);
bool IsRustWord(char32_t c);        // \w of the Rust regex crate
bool IsNumeric(char32_t c);         // Unicode 17, categories Nd, Nl, No
bool IsPunctuation(char32_t c);     // Unicode 8, category P*, and ASCII punctuation
bool IsOther(char32_t c);           // Unicode 8, categories Cc, Cf, Co
bool IsNonspacingMark(char32_t c);  // Unicode 8, category Mn
bool IsCombiningMark(char32_t c);   // Unicode 9, category M*

// Unicode 16, for split patterns. `name` is "L", "Lu", "Han", "Alphabetic", ... Case, spaces, '-'
// and '_' are ignored. Returns false if the name is not known.
bool LookUpProperty(std::string_view name, CodePointRanges* out);
CodePointRanges OnigWordRanges();
CodePointRanges WhiteSpaceRanges();

// The lowercase mapping. Only U+0130 maps to two characters; here it maps to 'i'.
char32_t ToLower(char32_t c);
// Adds to `ranges` every code point that equals a member when case is ignored.
void CloseUnderCase(CodePointRanges* ranges);

// Normalize sorts and joins ranges; the other functions give the complement within U+0000..U+10FFFF
// and the intersection.
void NormalizeRanges(CodePointRanges* ranges);
CodePointRanges ComplementRanges(const CodePointRanges& ranges);
CodePointRanges IntersectRanges(const CodePointRanges& a, const CodePointRanges& b);

}  // namespace mlc
