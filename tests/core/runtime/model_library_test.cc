#include "runtime/model_library.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/hash.h"
#include "fixture_paths.h"
#include "platform/file.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

// What a library is that works is shown where one is compiled (tests/python); here, that nothing
// else reaches the loader of shared objects.
TEST(ModelLibrary, RefusesFilesThatAreNoModelLibrary) {
  testing::TempFolder folder;
  struct Case {
    std::string path;
    StatusCode code;
  };
  const Case cases[] = {
      {folder.Path("absent.so"), StatusCode::kNotFound},
      {folder.path(), StatusCode::kNotFound},
      {"system://no_such_prefix_", StatusCode::kNotFound},
      {"system://", StatusCode::kNotFound},
      {folder.Write("empty.so", ""), StatusCode::kUnsupported},
      {folder.Write("other.so", "\177ELF and so on, but no trailer"), StatusCode::kUnsupported},
      {folder.Write("cut.so", "MLCLIB01" + std::string(16, 'x')), StatusCode::kCorrupt}};
  for (const Case& c : cases) {
    Result<std::unique_ptr<ModelLibrary>> library = ModelLibrary::Load(c.path, Device{});
    ASSERT_FALSE(library.ok()) << c.path;
    EXPECT_EQ(library.status().code(), c.code) << library.status().message();
    EXPECT_NE(library.status().message().find(c.path), std::string::npos);
  }
}

// The trailer vouches for the bytes, not for their being a library: a name without a loader, and
// one whose loader refuses the bytes.
TEST(ModelLibrary, ASealedFileThatTheLoaderRefusesIsAnError) {
  testing::TempFolder folder;
  // "foobar" with its length and FNV-1a hash.
  std::string sealed =
      "foobarMLCLIB01" + std::string("\6\0\0\0\0\0\0\0", 8) + "\xe8\x67\x39\xf7\x71\x41\x94\x85";
  for (const char* name : {"lib.so", "lib.unknown", "lib"}) {
    std::string path = folder.Write(name, sealed);
    Result<std::unique_ptr<ModelLibrary>> library = ModelLibrary::Load(path, Device{});
    ASSERT_FALSE(library.ok()) << name;
    EXPECT_NE(library.status().message().find(path), std::string::npos);
  }
}

// A library that opens, and that is none of a model.
TEST(ModelLibrary, APathMayHaveAnyLetters) {
  testing::TempFolder folder;
  Result<std::string> content = ReadFile(MLC_TVM_LOOP_LIBRARY);
  ASSERT_TRUE(content.ok()) << content.status().message();
  std::string trailer = "MLCLIB01";
  for (uint64_t number : {uint64_t{content->size()}, Fnv1a(*content)}) {
    for (int i = 0; i < 8; ++i) trailer.push_back(static_cast<char>(number >> (8 * i)));
  }
  auto why = [&](const std::string& name) {
    std::string path = folder.Write(name, *content + trailer);
    std::string message = ModelLibrary::Load(path, Device{}).status().message();
    size_t at = message.find(path);
    return at == std::string::npos ? message : message.erase(at, path.size());
  };
  std::string opened = why("plain.so");
  EXPECT_EQ(why("größe-модель.so"), opened);
  *content = "no library";
  EXPECT_NE(why("other.so"), opened);
}

}  // namespace
}  // namespace mlc
