// Extended grapheme clusters (Unicode 16, Annex 29): the characters that a reader sees.
#pragma once

#include <cstddef>
#include <string_view>

namespace mlc {

// The end of the cluster that begins at `pos`. Requires valid UTF-8 and pos < text.size().
size_t GraphemeEnd(std::string_view text, size_t pos);

}  // namespace mlc
