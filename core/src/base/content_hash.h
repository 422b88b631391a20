// The name of a content: SHA-256 (FIPS 180-4). Unlike those of base/hash.h it withstands a forger,
// so that nobody can make two pictures that caches take for one.
#ifndef MLC_BASE_CONTENT_HASH_H_
#define MLC_BASE_CONTENT_HASH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mlc {

using ContentHash = std::array<uint8_t, 32>;

ContentHash HashContent(std::string_view bytes);

// 64 hexadecimal digits, and back; nothing when the text is something else.
std::string ContentHashText(const ContentHash& hash);
std::optional<ContentHash> ParseContentHash(std::string_view text);

}  // namespace mlc

#endif  // MLC_BASE_CONTENT_HASH_H_
