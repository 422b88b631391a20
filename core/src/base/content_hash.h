// The hash of a content: SHA-256 (FIPS 180-4). Unlike the hashes of base/hash.h it is safe against
// forgery: nobody can make two pictures that a cache takes for the same one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mlc {

using ContentHash = std::array<uint8_t, 32>;

ContentHash HashContent(std::string_view bytes);

// The hash as 64 hexadecimal digits, and back. Returns nothing for any other text.
std::string ContentHashText(const ContentHash& hash);
std::optional<ContentHash> ParseContentHash(std::string_view text);

}  // namespace mlc
