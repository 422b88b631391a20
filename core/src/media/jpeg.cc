// JPEG by libjpeg-turbo: the rounding of Pillow's (slow integer transform, smooth chroma).
#include <cstdio>  // before jpeglib.h, which uses FILE
#include <string>
#include <utility>

extern "C" {
#include <jerror.h>
#include <jpeglib.h>
}

#include "media/codec.h"
#include "media/exif.h"

namespace mlc {
namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;
// A progressive file has some 10 passes over the picture; each costs time, and few bytes.
constexpr int kMostScans = 100;

// Thrown through libjpeg-turbo's functions, which hold nothing that ~JpegReader does not free.
struct JpegFailure {
  Status status;
};

Status StatusOf(int code, const std::string& message) {
  switch (code) {
    case JERR_OUT_OF_MEMORY:
      return ResourceExhausted("there is no memory to decode the picture: make it smaller");
    case JERR_SOF_UNSUPPORTED:
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CONVERSION_NOTIMPL:
      return UnsupportedPicture("this kind of JPEG is not read (" + message +
                                "): send a baseline or progressive one of 8 bits");
    default:
      return UnreadablePicture("the JPEG file is damaged or cut off: " + message);
  }
}

[[noreturn]] void Fail(j_common_ptr info) {
  char message[JMSG_LENGTH_MAX];
  info->err->format_message(info, message);
  throw JpegFailure{StatusOf(info->err->msg_code, message)};
}

// Warnings have a level below zero. Two say that pixels are missing: the data of a scan end too
// early; or the file does, where further scans may be. client_data: whether the file has several.
void Warn(j_common_ptr info, int level) {
  if (level >= 0) return;
  bool collects = *static_cast<const bool*>(info->client_data);
  int code = info->err->msg_code;
  if (code == JWRN_HIT_MARKER || (code == JWRN_JPEG_EOF && collects)) Fail(info);
}

void CountScans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
  throw JpegFailure{
      UnreadablePicture("the JPEG file has more than " + std::to_string(kMostScans) + " scans")};
}

class JpegReader {
 public:
  explicit JpegReader(std::string_view file) {
    info_.err = jpeg_std_error(&error_);
    error_.error_exit = &Fail;
    error_.emit_message = &Warn;
    progress_.progress_monitor = &CountScans;
    info_.client_data = &collects_;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file.data()),
                 static_cast<unsigned long>(file.size()));
    jpeg_save_markers(&info_, kExifMarker, 0xFFFF);
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  PictureHeader ReadHeader() {
    Begin();
    PictureHeader header{info_.image_width, info_.image_height};
    header.orientation = Orientation();
    // Several scans are collected as coefficients of two bytes.
    header.memory = collects_ ? 2 * info_.num_components * header.width * header.height : 0;
    return header;
  }

  StoredPixels Decode() {
    Begin();
    bool is_cmyk = info_.num_components == 4;
    info_.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&info_);
    size_t width = info_.output_width, row_bytes = 3 * width;
    StoredPixels pixels;
    pixels.values.resize(row_bytes * info_.output_height);
    std::vector<uint8_t> inks(is_cmyk ? 4 * width : 0);
    while (info_.output_scanline < info_.output_height) {
      uint8_t* row = &pixels.values[info_.output_scanline * row_bytes];
      JSAMPROW target = is_cmyk ? inks.data() : row;
      jpeg_read_scanlines(&info_, &target, 1);
      for (size_t x = 0; is_cmyk && x < width; ++x) ToRgb(&inks[4 * x], row + 3 * x);
    }
    return pixels;
  }

 private:
  void Begin() {
    jpeg_read_header(&info_, TRUE);
    collects_ = jpeg_has_multiple_scans(&info_) != 0;
  }

  int Orientation() const {
    for (jpeg_saved_marker_ptr marker = info_.marker_list; marker != nullptr;
         marker = marker->next) {
      std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (data.substr(0, 4) == "Exif") return ExifOrientation(data);
    }
    return 1;
  }

  // `inks` as files hold them, inverted: 255 is no ink. Pillow's conversion.
  static void ToRgb(const uint8_t* inks, uint8_t* rgb) {
    unsigned light = inks[3];
    for (int c = 0; c < 3; ++c) {
      unsigned taken = (255u - inks[c]) * light + 128;
      rgb[c] = static_cast<uint8_t>(light - ((taken + (taken >> 8)) >> 8));
    }
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr error_{};
  jpeg_progress_mgr progress_{};
  bool collects_ = false;
};

bool MatchesJpeg(std::string_view file) { return file.substr(0, 3) == "\xff\xd8\xff"; }

Result<PictureHeader> ReadJpegHeader(std::string_view file) {
  try {
    return JpegReader(file).ReadHeader();
  } catch (JpegFailure& failure) {
    return std::move(failure.status);
  }
}

Result<StoredPixels> DecodeJpeg(std::string_view file, const PictureHeader&) {
  try {
    return JpegReader(file).Decode();
  } catch (JpegFailure& failure) {
    return std::move(failure.status);
  }
}

}  // namespace

const PictureCodec kJpegCodec = {&MatchesJpeg, &ReadJpegHeader, &DecodeJpeg};

}  // namespace mlc
