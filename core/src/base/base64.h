// Base64 (RFC 4648, section 4, with padding).
#ifndef MLC_BASE_BASE64_H_
#define MLC_BASE_BASE64_H_

#include <string>
#include <string_view>

namespace mlc {

std::string EncodeBase64(std::string_view bytes);

}  // namespace mlc

#endif  // MLC_BASE_BASE64_H_
