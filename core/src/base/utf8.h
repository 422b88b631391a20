// UTF-8: decoding that never fails, and the length of an incomplete code point at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mlc {

constexpr char32_t kReplacementChar = 0xFFFD;

// Decodes the code point at text[*pos] and moves *pos behind it. An invalid byte gives
// kReplacementChar, and *pos moves by the length of the maximal invalid subpart (Unicode, 3.9,
// U+FFFD substitution), as in Python's and Rust's lossy decoders. Requires *pos < text.size().
char32_t DecodeUtf8(std::string_view text, size_t* pos);

// Appends the code point's UTF-8 bytes. A surrogate or a value over 0x10FFFF becomes U+FFFD.
void AppendUtf8(char32_t code_point, std::string* out);

std::u32string ToCodePoints(std::string_view text);

bool IsValidUtf8(std::string_view text);

// The number of bytes at the end of `text` that begin an incomplete code point: 0 to 3.
size_t IncompleteUtf8Tail(std::string_view text);

// A copy of `text` with U+FFFD in place of every invalid subpart.
std::string RepairUtf8(std::string_view text);

}  // namespace mlc
