#include "runtime/model_library.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace mlc
