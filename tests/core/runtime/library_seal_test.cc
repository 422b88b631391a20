#include "runtime/library_seal.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/hash.h"
#include "runtime/library_trailer.h"

namespace mlc {
namespace {

constexpr size_t kText = 64, kTextBytes = 40, kSeal = 104, kNames = 128, kNamesBytes = 30;

template <typename T>
void Put(std::string* file, size_t at, T value) {
  std::memcpy(file->data() + at, &value, sizeof(T));
}

void PutSection(std::string* file, size_t index, uint32_t name, uint64_t flags, uint64_t offset,
                uint64_t size) {
  size_t at = 160 + 64 * index;
  Put<uint32_t>(file, at, name);
  Put<uint32_t>(file, at + 4, 1);
  Put<uint64_t>(file, at + 8, flags);
  Put<uint64_t>(file, at + 0x18, offset);
  Put<uint64_t>(file, at + 0x20, size);
}

// An ELF file with two loaded sections, the code and the seal, and the names of the sections.
std::string SealedFile() {
  std::string file(160 + 4 * 64, '\0');
  std::memcpy(file.data(), "\177ELF\2\1", 6);
  Put<uint64_t>(&file, 0x28, 160);  // the section table
  Put<uint16_t>(&file, 0x3a, 64);
  Put<uint16_t>(&file, 0x3c, 4);
  Put<uint16_t>(&file, 0x3e, 3);
  std::string text(kTextBytes, 'x');
  file.replace(kText, kTextBytes, text);
  file.replace(kNames, 23, std::string("\0.text\0.mlc_seal\0.names", 23));
  PutSection(&file, 1, 1, 2, kText, kTextBytes);
  PutSection(&file, 2, 7, 2, kSeal, 24);
  PutSection(&file, 3, 17, 0, kNames, kNamesBytes);
  file.replace(kSeal, 8, "MLCSEAL1");
  Put<uint64_t>(&file, kSeal + 8, kTextBytes);
  Put<uint64_t>(&file, kSeal + 16, HashWords(text));
  return file;
}

TEST(ReadLibrarySeal, FitsAsWrittenAndSaysWhatChanged) {
  std::string file = SealedFile();
  std::optional<LibrarySeal> seal = ReadLibrarySeal(file);
  ASSERT_TRUE(seal.has_value());
  EXPECT_TRUE(seal->fits);
  EXPECT_EQ(LibraryId(file), HexText(HashWords(std::string(kTextBytes, 'x'))));
  for (size_t bit = 8 * kText; bit < 8 * (kText + kTextBytes); ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    seal = ReadLibrarySeal(damaged);
    ASSERT_TRUE(seal.has_value());
    ASSERT_FALSE(seal->fits) << bit;
    EXPECT_EQ(CheckLibraryTrailer(damaged, "lib.so").code(), StatusCode::kCorrupt);
  }
}

TEST(ReadLibrarySeal, ALibraryThatWasStrippedOfItsTrailerIsWhole) {
  std::string file = SealedFile();
  EXPECT_TRUE(CheckLibraryTrailer(file, "lib.so").ok());
  // what is not loaded may change: stripping writes the file anew
  file[20] = 'v';
  file += "a section that is not loaded";
  EXPECT_TRUE(CheckLibraryTrailer(file, "lib.so").ok());
}

TEST(ReadLibrarySeal, AnyCutAndAnyByteInTheTableIsNoCrash) {
  const std::string file = SealedFile();
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(ReadLibrarySeal(file.substr(0, size)).has_value()) << size;
  }
  for (size_t at = 0; at < file.size(); ++at) {
    for (int value : {0x00, 0x7f, 0xff}) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(value);
      (void)ReadLibrarySeal(damaged);
    }
  }
  std::string no_seal = file;
  no_seal[kNames + 8] = 'x';
  EXPECT_FALSE(ReadLibrarySeal(no_seal).has_value());
}

}  // namespace
}  // namespace mlc
