// How a picture must be turned before it is shown.
#pragma once

#include <string_view>

namespace mlc {

// The orientation (1 to 8) out of EXIF data, which may begin with "Exif\0\0". 1, as stored: also
// for data that is damaged or says nothing. Nothing else in it is read.
int ExifOrientation(std::string_view exif);

}  // namespace mlc
