#include "runtime/library_trailer.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace mlc {
namespace {

std::string LittleEndian64(uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

std::string Sealed(const std::string& content) {
  uint64_t hash = 14695981039346656037u;
  for (unsigned char byte : content) hash = (hash ^ byte) * 1099511628211u;
  return content + "MLCLIB01" + LittleEndian64(content.size()) + LittleEndian64(hash);
}

TEST(CheckLibraryTrailer, AcceptsWhatTheCompilerWrites) {
  // FNV-1a of "foobar" is 85944171f73967e8 (Fowler, Noll, Vo: their test vectors).
  EXPECT_EQ(Sealed("foobar").substr(22), LittleEndian64(0x85944171f73967e8));
  for (const std::string& content :
       {std::string("foobar"), std::string(), std::string(5000, 'x')}) {
    Status status = CheckLibraryTrailer(Sealed(content), "lib.so");
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(CheckLibraryTrailer, AnyFlippedBitIsSeen) {
  const std::string sealed = Sealed("a small library");
  for (size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    std::string damaged = sealed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    Status status = CheckLibraryTrailer(damaged, "lib.so");
    ASSERT_FALSE(status.ok()) << "bit " << bit;
    EXPECT_EQ(status.param(), "model_lib");
  }
}

TEST(CheckLibraryTrailer, AnyCutIsSeen) {
  const std::string sealed = Sealed("a small library");
  for (size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_FALSE(CheckLibraryTrailer(sealed.substr(0, size), "lib.so").ok()) << size;
  }
  for (size_t begin = 1; begin <= 15; ++begin) {
    EXPECT_EQ(CheckLibraryTrailer(sealed.substr(begin), "lib.so").code(), StatusCode::kCorrupt);
  }
}

TEST(CheckLibraryTrailer, AnotherSharedObjectIsUnsupported) {
  Status status = CheckLibraryTrailer("\177ELF" + std::string(100, '\0'), "dist/lib.so");
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("dist/lib.so"), std::string::npos);
}

}  // namespace
}  // namespace mlc
