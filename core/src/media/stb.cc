#include "media/stb.h"

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <memory>

// A file may inflate to more than its header says, so each piece of memory has a limit.
namespace {

thread_local size_t largest_piece = 0;

void* Allocate(size_t size) { return size <= largest_piece ? std::malloc(size) : nullptr; }
void* Reallocate(void* piece, size_t size) {
  return size <= largest_piece ? std::realloc(piece, size) : nullptr;
}

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wsign-compare"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_GIF
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_FAILURE_STRINGS  // with both: no state that threads share
#define STBI_NO_THREAD_LOCALS
#define STBI_ASSERT(condition) static_cast<void>(condition)
#define STBI_MALLOC(size) Allocate(size)
#define STBI_REALLOC(piece, size) Reallocate(piece, size)
#define STBI_FREE(piece) std::free(piece)
#include <stb_image.h>
#pragma GCC diagnostic pop

namespace mlc {
namespace {

struct FreePixels {
  void operator()(stbi_uc* pixels) const { stbi_image_free(pixels); }
};

const stbi_uc* BytesOf(std::string_view file) {
  return reinterpret_cast<const stbi_uc*>(file.data());
}

}  // namespace

int StbChannels(std::string_view file) {
  int width = 0, height = 0, channels = 0;
  largest_piece = 1 << 20;
  int found = file.size() > INT_MAX
                  ? 0
                  : stbi_info_from_memory(BytesOf(file), static_cast<int>(file.size()), &width,
                                          &height, &channels);
  return found != 0 ? channels : 0;
}

Result<StoredPixels> DecodeByStb(std::string_view file, const PictureHeader& header, int channels,
                                 size_t largest) {
  int width = 0, height = 0, stored = 0;
  largest_piece = largest;
  std::unique_ptr<stbi_uc, FreePixels> decoded(
      file.size() > INT_MAX ? nullptr
                            : stbi_load_from_memory(BytesOf(file), static_cast<int>(file.size()),
                                                    &width, &height, &stored, channels));
  if (decoded == nullptr || width != header.width || height != header.height) {
    return UnreadablePicture("the picture's file is damaged or cut off");
  }
  StoredPixels pixels;
  pixels.channels = channels;
  size_t bytes =
      static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels);
  pixels.values.assign(decoded.get(), decoded.get() + bytes);
  return pixels;
}

}  // namespace mlc
