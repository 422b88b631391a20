// UTF-8: decoding that never fails, and the length of an unfinished tail.
#ifndef MLC_BASE_UTF8_H_
#define MLC_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mlc {

constexpr char32_t kReplacementChar = 0xFFFD;

// Decodes the code point at text[*pos] and moves *pos past it. An invalid byte gives
// kReplacementChar and moves by the length of the maximal invalid subpart (Unicode, 3.9, U+FFFD
// substitution), as Python's and Rust's lossy decoders do. Requires *pos < text.size().
char32_t DecodeUtf8(std::string_view text, size_t* pos);

// Appends the code point's UTF-8 bytes; a surrogate or a value over 0x10FFFF appends U+FFFD.
void AppendUtf8(char32_t code_point, std::string* out);

std::u32string ToCodePoints(std::string_view text);
std::string FromCodePoints(std::u32string_view code_points);

bool IsValidUtf8(std::string_view text);

// How many bytes at the end of `text` begin a code point that more bytes could complete: 0 to 3.
size_t IncompleteUtf8Tail(std::string_view text);

// `text` with every invalid subpart replaced by U+FFFD.
std::string RepairUtf8(std::string_view text);

}  // namespace mlc

#endif  // MLC_BASE_UTF8_H_
