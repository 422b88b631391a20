// Base64 (RFC 4648, section 4, with padding).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mlc {

std::string EncodeBase64(std::string_view bytes);

// Returns nothing when the text is not base64. Padding may be missing.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace mlc
