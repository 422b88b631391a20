// GPT-2's alphabet: every byte as a printable character ("Ġ" is the space).
#ifndef MLC_TEXT_BYTE_LEVEL_H_
#define MLC_TEXT_BYTE_LEVEL_H_

#include <string>
#include <string_view>

namespace mlc {

// The character of each byte, in UTF-8.
std::string_view ByteLevelChar(unsigned char byte);
std::string ToByteLevel(std::string_view bytes);

// The bytes that the characters stand for; false (and `out` unchanged) when one stands for none.
bool FromByteLevel(std::string_view text, std::string* out);

}  // namespace mlc

#endif  // MLC_TEXT_BYTE_LEVEL_H_
