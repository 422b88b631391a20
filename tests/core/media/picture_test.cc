#include "media/picture.h"

#include <gtest/gtest.h>

#include <string>

#include "base/base64.h"
#include "base/hash.h"
#include "support/tiny_pictures.h"

namespace mlc {
namespace {

using testing::kTinyPictures;
using testing::TinyPicture;

std::string FileOf(const TinyPicture& picture) { return *DecodeBase64(picture.base64); }

// tests/python/media compares 300 files with Pillow; these are run on every system, and under the
// sanitizers.
TEST(Picture, EachFormatIsShownAsPillowShowsIt) {
  for (const TinyPicture& tiny : kTinyPictures) {
    Result<Picture> picture = DecodePicture(FileOf(tiny));
    ASSERT_TRUE(picture.ok()) << tiny.name << ": " << picture.status().message();
    EXPECT_EQ(picture->width, tiny.width) << tiny.name;
    EXPECT_EQ(picture->height, tiny.height) << tiny.name;
    std::string_view rgb(reinterpret_cast<const char*>(picture->rgb.data()), picture->rgb.size());
    EXPECT_EQ(Fnv1a(rgb), tiny.hash) << tiny.name;
    Result<PictureSize> size = ReadPictureSize(FileOf(tiny));
    ASSERT_TRUE(size.ok()) << tiny.name;
    EXPECT_EQ(size->width, tiny.width) << tiny.name;
  }
}

TEST(Picture, ABeginningIsRefusedOrIsTheWholePicture) {
  for (const TinyPicture& tiny : kTinyPictures) {
    std::string file = FileOf(tiny);
    for (size_t size = 0; size < file.size(); ++size) {
      Result<Picture> picture = DecodePicture(std::string_view(file).substr(0, size));
      if (!picture.ok()) {
        EXPECT_TRUE(picture.status().Is(Reason::kImageParseError)) << tiny.name << " " << size;
        continue;
      }
      std::string_view rgb(reinterpret_cast<const char*>(picture->rgb.data()), picture->rgb.size());
      EXPECT_EQ(Fnv1a(rgb), tiny.hash) << tiny.name << " " << size;
    }
  }
}

TEST(Picture, AByteThatIsWrongKillsNothing) {
  for (const TinyPicture& tiny : kTinyPictures) {
    std::string file = FileOf(tiny);
    for (size_t at = 0; at < file.size(); ++at) {
      for (int flip : {0x01, 0x80, 0xFF}) {
        std::string damaged = file;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        PictureLimits limits;
        limits.pixels = 1 << 20;
        Result<Picture> picture = DecodePicture(damaged, limits);
        EXPECT_TRUE(picture.ok() || !picture.status().message().empty());
      }
    }
  }
}

TEST(Picture, LimitsAreCheckedBeforeDecoding) {
  std::string file = FileOf(kTinyPictures[0]);
  auto refused = [&](auto change) {
    PictureLimits limits;
    change(&limits);
    Status status = DecodePicture(file, limits).status();
    EXPECT_FALSE(ReadPictureSize(file, limits).ok());
    EXPECT_FALSE(status.ok());
    return status.reason().name();
  };
  EXPECT_EQ(refused([](PictureLimits* l) { l->file_bytes = 20; }), "image_file_too_large");
  EXPECT_EQ(refused([](PictureLimits* l) { l->side = 12; }), "image_too_large");
  EXPECT_EQ(refused([](PictureLimits* l) { l->pixels = 77; }), "image_too_large");
  EXPECT_EQ(refused([](PictureLimits* l) { l->memory = 500; }), "image_too_large");
}

TEST(Picture, WhatIsNotReadSaysWhy) {
  struct Case {
    std::string file;
    const Reason& reason;
    const char* word;
  };
  const Case cases[] = {
      {"", Reason::kImageParseError, "no bytes"},
      {"Describe this.", Reason::kImageParseError, "PNG, JPEG, WebP, GIF or BMP"},
      {std::string("\0\0\0\x18"
                   "ftypheic",
                   12),
       Reason::kUnsupportedImageMediaType, "HEIC"},
      {std::string("\0\0\0\x18"
                   "ftypavif",
                   12),
       Reason::kUnsupportedImageMediaType, "AVIF"},
      {"%PDF-1.7", Reason::kUnsupportedImageMediaType, "PDF"},
  };
  for (const Case& c : cases) {
    Status status = DecodePicture(c.file).status();
    ASSERT_FALSE(status.ok()) << c.word;
    EXPECT_TRUE(status.Is(c.reason)) << status.message();
    EXPECT_NE(status.message().find(c.word), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace mlc
