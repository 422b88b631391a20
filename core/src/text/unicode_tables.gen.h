// Generated from the Unicode Character Database by: python codegen/unicode.py (unicodedataplus 16.0.0.post1)
// Never edit.
#ifndef MLC_TEXT_UNICODE_TABLES_GEN_H_
#define MLC_TEXT_UNICODE_TABLES_GEN_H_

#include <cstddef>
#include <cstdint>

namespace mlc {
namespace unicode_tables {

extern const uint32_t kCategoryStarts[];  // Unicode 16: code point << 5 | category, the first code point of each run.
extern const size_t kCategoryStartsSize;
extern const uint32_t kWhiteSpace[];  // Pairs first, last.
extern const size_t kWhiteSpaceSize;
extern const uint32_t kOnigWord[];  // Pairs first, last.
extern const size_t kOnigWordSize;
extern const uint32_t kRustWord[];  // Pairs first, last.
extern const size_t kRustWordSize;
extern const uint32_t kNumeric17[];  // Pairs first, last.
extern const size_t kNumeric17Size;
extern const uint32_t kPunctuation8[];  // Pairs first, last.
extern const size_t kPunctuation8Size;
extern const uint32_t kOther8[];  // Pairs first, last.
extern const size_t kOther8Size;
extern const uint32_t kNonspacingMark8[];  // Pairs first, last.
extern const size_t kNonspacingMark8Size;
extern const uint32_t kCombiningMark9[];  // Pairs first, last.
extern const size_t kCombiningMark9Size;
extern const uint32_t kScriptArabic[];  // Pairs first, last.
extern const size_t kScriptArabicSize;
extern const uint32_t kScriptArmenian[];  // Pairs first, last.
extern const size_t kScriptArmenianSize;
extern const uint32_t kScriptBengali[];  // Pairs first, last.
extern const size_t kScriptBengaliSize;
extern const uint32_t kScriptCyrillic[];  // Pairs first, last.
extern const size_t kScriptCyrillicSize;
extern const uint32_t kScriptDevanagari[];  // Pairs first, last.
extern const size_t kScriptDevanagariSize;
extern const uint32_t kScriptGeorgian[];  // Pairs first, last.
extern const size_t kScriptGeorgianSize;
extern const uint32_t kScriptGreek[];  // Pairs first, last.
extern const size_t kScriptGreekSize;
extern const uint32_t kScriptHan[];  // Pairs first, last.
extern const size_t kScriptHanSize;
extern const uint32_t kScriptHangul[];  // Pairs first, last.
extern const size_t kScriptHangulSize;
extern const uint32_t kScriptHebrew[];  // Pairs first, last.
extern const size_t kScriptHebrewSize;
extern const uint32_t kScriptHiragana[];  // Pairs first, last.
extern const size_t kScriptHiraganaSize;
extern const uint32_t kScriptKatakana[];  // Pairs first, last.
extern const size_t kScriptKatakanaSize;
extern const uint32_t kScriptKhmer[];  // Pairs first, last.
extern const size_t kScriptKhmerSize;
extern const uint32_t kScriptLao[];  // Pairs first, last.
extern const size_t kScriptLaoSize;
extern const uint32_t kScriptLatin[];  // Pairs first, last.
extern const size_t kScriptLatinSize;
extern const uint32_t kScriptMyanmar[];  // Pairs first, last.
extern const size_t kScriptMyanmarSize;
extern const uint32_t kScriptTamil[];  // Pairs first, last.
extern const size_t kScriptTamilSize;
extern const uint32_t kScriptTelugu[];  // Pairs first, last.
extern const size_t kScriptTeluguSize;
extern const uint32_t kScriptThai[];  // Pairs first, last.
extern const size_t kScriptThaiSize;
extern const uint32_t kScriptTibetan[];  // Pairs first, last.
extern const size_t kScriptTibetanSize;
extern const int32_t kLowerRuns[];  // Rows first, last, step, delta.
extern const size_t kLowerRunsSize;
extern const int32_t kFoldRuns[];  // Rows first, last, step, delta.
extern const size_t kFoldRunsSize;
extern const uint32_t kCombiningClassStarts[];  // Code point << 8 | class, of each run.
extern const size_t kCombiningClassStartsSize;
extern const uint32_t kDecompositions[];  // Rows code point, offset << 8 | length << 1 | compatibility.
extern const size_t kDecompositionsSize;
extern const uint32_t kDecompositionPool[];  // Code points.
extern const size_t kDecompositionPoolSize;
extern const uint32_t kCompositions[];  // Rows first, second, composed.
extern const size_t kCompositionsSize;
extern const uint32_t kGraphemeBreakStarts[];  // Code point << 5 | pictographic << 4 | break, of each run.
extern const size_t kGraphemeBreakStartsSize;
extern const uint32_t kConjunctBreakStarts[];  // Code point << 5 | Indic_Conjunct_Break, of each run.
extern const size_t kConjunctBreakStartsSize;

}  // namespace unicode_tables
}  // namespace mlc

#endif  // MLC_TEXT_UNICODE_TABLES_GEN_H_
