// The JSON text of a stranger.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/json.h"

namespace mlc {

// A value takes up to 100 bytes of memory for two bytes of text, so a request has at most so many.
inline constexpr size_t kMaxRequestValues = size_t{1} << 19;

// Json::Parse, which also refuses a text with more than kMaxRequestValues values.
Result<Json> ParseRequestJson(std::string_view text);

}  // namespace mlc
