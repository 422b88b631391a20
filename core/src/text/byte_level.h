// GPT-2's alphabet: it writes every byte as a printable character ("Ġ" is the space).
#pragma once

#include <string>
#include <string_view>

namespace mlc {

// The character of each byte, in UTF-8.
std::string_view ByteLevelChar(unsigned char byte);
std::string ToByteLevel(std::string_view bytes);

// Converts the characters back to bytes. Returns false, and leaves `out` unchanged, if a character
// is not in the alphabet.
bool FromByteLevel(std::string_view text, std::string* out);

}  // namespace mlc
