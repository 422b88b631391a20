// Generated from the Unicode Character Database. Never edit.
// By: python codegen/unicode.py (unicodedataplus 16.0.0.post1)
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlc {
namespace unicode_tables {

// Unicode 16: code point << 5 | category, of each run.
extern const uint32_t kCategoryStarts[];
extern const size_t kCategoryStartsSize;
// Pairs first, last.
extern const uint32_t kWhiteSpace[];
extern const size_t kWhiteSpaceSize;
// Pairs first, last.
extern const uint32_t kOnigWord[];
extern const size_t kOnigWordSize;
// Pairs first, last.
extern const uint32_t kRustWord[];
extern const size_t kRustWordSize;
// Pairs first, last.
extern const uint32_t kNumeric17[];
extern const size_t kNumeric17Size;
// Pairs first, last.
extern const uint32_t kPunctuation8[];
extern const size_t kPunctuation8Size;
// Pairs first, last.
extern const uint32_t kOther8[];
extern const size_t kOther8Size;
// Pairs first, last.
extern const uint32_t kNonspacingMark8[];
extern const size_t kNonspacingMark8Size;
// Pairs first, last.
extern const uint32_t kCombiningMark9[];
extern const size_t kCombiningMark9Size;
// Pairs first, last.
extern const uint32_t kScriptArabic[];
extern const size_t kScriptArabicSize;
// Pairs first, last.
extern const uint32_t kScriptArmenian[];
extern const size_t kScriptArmenianSize;
// Pairs first, last.
extern const uint32_t kScriptBengali[];
extern const size_t kScriptBengaliSize;
// Pairs first, last.
extern const uint32_t kScriptCyrillic[];
extern const size_t kScriptCyrillicSize;
// Pairs first, last.
extern const uint32_t kScriptDevanagari[];
extern const size_t kScriptDevanagariSize;
// Pairs first, last.
extern const uint32_t kScriptGeorgian[];
extern const size_t kScriptGeorgianSize;
// Pairs first, last.
extern const uint32_t kScriptGreek[];
extern const size_t kScriptGreekSize;
// Pairs first, last.
extern const uint32_t kScriptHan[];
extern const size_t kScriptHanSize;
// Pairs first, last.
extern const uint32_t kScriptHangul[];
extern const size_t kScriptHangulSize;
// Pairs first, last.
extern const uint32_t kScriptHebrew[];
extern const size_t kScriptHebrewSize;
// Pairs first, last.
extern const uint32_t kScriptHiragana[];
extern const size_t kScriptHiraganaSize;
// Pairs first, last.
extern const uint32_t kScriptKatakana[];
extern const size_t kScriptKatakanaSize;
// Pairs first, last.
extern const uint32_t kScriptKhmer[];
extern const size_t kScriptKhmerSize;
// Pairs first, last.
extern const uint32_t kScriptLao[];
extern const size_t kScriptLaoSize;
// Pairs first, last.
extern const uint32_t kScriptLatin[];
extern const size_t kScriptLatinSize;
// Pairs first, last.
extern const uint32_t kScriptMyanmar[];
extern const size_t kScriptMyanmarSize;
// Pairs first, last.
extern const uint32_t kScriptTamil[];
extern const size_t kScriptTamilSize;
// Pairs first, last.
extern const uint32_t kScriptTelugu[];
extern const size_t kScriptTeluguSize;
// Pairs first, last.
extern const uint32_t kScriptThai[];
extern const size_t kScriptThaiSize;
// Pairs first, last.
extern const uint32_t kScriptTibetan[];
extern const size_t kScriptTibetanSize;
// Rows first, last, step, delta.
extern const int32_t kLowerRuns[];
extern const size_t kLowerRunsSize;
// Rows first, last, step, delta.
extern const int32_t kFoldRuns[];
extern const size_t kFoldRunsSize;
// Code point << 8 | class, of each run.
extern const uint32_t kCombiningClassStarts[];
extern const size_t kCombiningClassStartsSize;
// Rows code point, offset << 8 | length << 1 | compatibility.
extern const uint32_t kDecompositions[];
extern const size_t kDecompositionsSize;
// Code points.
extern const uint32_t kDecompositionPool[];
extern const size_t kDecompositionPoolSize;
// Rows first, second, composed.
extern const uint32_t kCompositions[];
extern const size_t kCompositionsSize;
// Code point << 5 | pictographic << 4 | break, of each run.
extern const uint32_t kGraphemeBreakStarts[];
extern const size_t kGraphemeBreakStartsSize;
// Code point << 5 | Indic_Conjunct_Break, of each run.
extern const uint32_t kConjunctBreakStarts[];
extern const size_t kConjunctBreakStartsSize;

}  // namespace unicode_tables
}  // namespace mlc
