#include "media/exif.h"

#include <gtest/gtest.h>

#include <string>

namespace mlc {
namespace {

using namespace std::string_literals;

TEST(Exif, TheOrientationInBothByteOrders) {
  for (int value = 1; value <= 8; ++value) {
    std::string byte(1, static_cast<char>(value));
    EXPECT_EQ(ExifOrientation("Exif\0\0II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0"s + byte + "\0\0\0"s),
              value);
    EXPECT_EQ(ExifOrientation("MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0"s + byte + "\0\0"s), value);
  }
}

TEST(Exif, WhatIsDamagedSaysNothing) {
  const std::string whole = "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0"s;
  ASSERT_EQ(ExifOrientation(whole), 6);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(ExifOrientation(whole.substr(0, size)), 1) << size;
  }
  const std::string damaged[] = {
      "II*\0\xff\xff\xff\xff\1\0\x12\1\3\0\1\0\0\0\6\0\0\0"s,  // the list is far away
      "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\x09\0\0\0"s,      // no such orientation
      "II*\0\x08\0\0\0\1\0\x12\1\x0b\0\1\0\0\0\0\0\xc0\x7f"s,  // NaN
      "XX*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0"s,
  };
  for (const std::string& exif : damaged) EXPECT_EQ(ExifOrientation(exif), 1);
}

}  // namespace
}  // namespace mlc
