// The formats that stb_image reads here: PNG, GIF, BMP.
#pragma once

#include <cstddef>
#include <string_view>

#include "media/codec.h"

namespace mlc {

// The channels of a file's pixels, by its header: 1 (grey), 2 (grey, alpha), 3 or 4. 0: not
// readable.
int StbChannels(std::string_view file);

// `channels`: 3 or 4. `largest`: no piece of memory has more bytes.
Result<StoredPixels> DecodeByStb(std::string_view file, const PictureHeader& header, int channels,
                                 size_t largest);

}  // namespace mlc
