#include "runtime/library_trailer.h"

#include <cstdint>

#include "base/hash.h"
#include "runtime/library_seal.h"

namespace mlc {
namespace {

constexpr std::string_view kTrailerMagic = "MLCLIB01";
constexpr size_t kTrailerBytes = 24;

uint64_t ReadLittleEndian64(std::string_view bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

Status Damaged(const std::string& path) {
  return Corrupt(path + ": the model library is damaged; compile the model again")
      .WithParam("model_lib");
}

}  // namespace

Status CheckLibraryTrailer(std::string_view file, const std::string& path) {
  std::string_view trailer =
      file.size() < kTrailerBytes ? std::string_view() : file.substr(file.size() - kTrailerBytes);
  if (trailer.substr(0, kTrailerMagic.size()) != kTrailerMagic) {
    if (std::optional<LibrarySeal> seal = ReadLibrarySeal(file)) {
      return seal->fits ? Status() : Damaged(path);
    }
    return Unsupported(path +
                       ": is not a model library that this version of `mlc_llm compile` wrote, or "
                       "it was cut off; compile the model again")
        .WithParam("model_lib")
        .WithReason(Reason::kModelLibraryNotSealed);
  }
  std::string_view content = file.substr(0, file.size() - kTrailerBytes);
  if (ReadLittleEndian64(trailer.substr(8)) != content.size() ||
      ReadLittleEndian64(trailer.substr(16)) != Fnv1a(content)) {
    return Damaged(path);
  }
  return Status();
}

std::string LibraryId(std::string_view file) {
  if (std::optional<LibrarySeal> seal = ReadLibrarySeal(file)) return HexText(seal->hash);
  return HexText(ReadLittleEndian64(file.substr(file.size() - 8)));
}

}  // namespace mlc
