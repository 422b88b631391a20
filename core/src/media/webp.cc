// WebP by libwebp's decoder: lossy, lossless, and the first frame of an animation.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "media/codec.h"
#include "media/exif.h"

namespace mlc {
namespace {

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
using Demuxer = std::unique_ptr<WebPDemuxer, DeleteDemuxer>;

// Null unless the file is whole. It points into the file's bytes.
Demuxer Open(std::string_view file) {
  WebPData data{reinterpret_cast<const uint8_t*>(file.data()), file.size()};
  return Demuxer(WebPDemux(&data));
}

Status Damaged() { return UnreadablePicture("the WebP file is damaged or cut off"); }

int Orientation(const WebPDemuxer* demuxer) {
  WebPChunkIterator chunk{};
  int orientation = 1;
  if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk) != 0) {
    orientation =
        ExifOrientation({reinterpret_cast<const char*>(chunk.chunk.bytes), chunk.chunk.size});
  }
  WebPDemuxReleaseChunkIterator(&chunk);
  return orientation;
}

bool MatchesWebP(std::string_view file) {
  return file.substr(0, 4) == "RIFF" && file.size() >= 12 && file.substr(8, 4) == "WEBP";
}

Result<PictureHeader> ReadWebPHeader(std::string_view file) {
  Demuxer demuxer = Open(file);
  if (demuxer == nullptr) return Damaged();
  PictureHeader header{WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH),
                       WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT)};
  header.orientation = Orientation(demuxer.get());
  header.memory = 9 * header.width * header.height;  // a lossless frame, its pixels, and alpha
  return header;
}

Result<StoredPixels> DecodeFrame(const WebPIterator& frame, const PictureHeader& header) {
  auto width = static_cast<size_t>(header.width), height = static_cast<size_t>(header.height);
  auto left = static_cast<size_t>(frame.x_offset), top = static_cast<size_t>(frame.y_offset);
  auto columns = static_cast<size_t>(frame.width), rows = static_cast<size_t>(frame.height);
  if (left + columns > width || top + rows > height) return Damaged();
  StoredPixels pixels;
  // What the first frame does not cover is transparent.
  bool has_alpha = frame.has_alpha != 0 || columns != width || rows != height;
  pixels.channels = has_alpha ? 4 : 3;
  auto channels = static_cast<size_t>(pixels.channels);
  size_t stride = width * channels, begin = top * stride + left * channels;
  pixels.values.resize(stride * height);
  auto decode = has_alpha ? &WebPDecodeRGBAInto : &WebPDecodeRGBInto;
  const uint8_t* decoded = decode(frame.fragment.bytes, frame.fragment.size, &pixels.values[begin],
                                  pixels.values.size() - begin, static_cast<int>(stride));
  if (decoded == nullptr) return Damaged();
  return pixels;
}

Result<StoredPixels> DecodeWebP(std::string_view file, const PictureHeader& header) {
  Demuxer demuxer = Open(file);
  WebPIterator frame{};
  bool found = demuxer != nullptr && WebPDemuxGetFrame(demuxer.get(), 1, &frame) != 0;
  Result<StoredPixels> pixels =
      found ? DecodeFrame(frame, header) : Result<StoredPixels>(Damaged());
  WebPDemuxReleaseIterator(&frame);
  return pixels;
}

}  // namespace

const PictureCodec kWebPCodec = {&MatchesWebP, &ReadWebPHeader, &DecodeWebP};

}  // namespace mlc
