#include "runtime/byte_source.h"

#include <gtest/gtest.h>

#include "support/temp_folder.h"

namespace mlc {
namespace {

TEST(FolderSource, OpensFilesOfItsFolder) {
  testing::TempFolder folder;
  folder.Write("config.json", "{}");
  FolderSource source(folder.path());
  EXPECT_TRUE(source.Has("config.json"));
  EXPECT_EQ(source.Open("config.json")->text(), "{}");
  EXPECT_EQ(source.Describe("config.json"), folder.Path("config.json"));
}

TEST(FolderSource, BytesOutliveTheSource) {
  testing::TempFolder folder;
  folder.Write("f", "bytes");
  Bytes bytes;
  {
    FolderSource source(folder.path());
    bytes = *source.Open("f");
  }
  EXPECT_EQ(bytes.text(), "bytes");
}

TEST(FolderSource, AbsentIsNotFoundAndOutsideIsCorrupt) {
  testing::TempFolder folder;
  FolderSource source(folder.path());
  EXPECT_FALSE(source.Has("absent"));
  EXPECT_EQ(source.Open("absent").status().code(), StatusCode::kNotFound);
  for (const char* outside : {"../x", "/etc/hostname", "a/../../x", ""}) {
    EXPECT_FALSE(source.Has(outside)) << outside;
    EXPECT_EQ(source.Open(outside).status().code(), StatusCode::kCorrupt) << outside;
  }
}

}  // namespace
}  // namespace mlc
