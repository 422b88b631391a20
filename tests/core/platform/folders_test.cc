#include "platform/folders.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

class FoldersTest : public ::testing::Test {
 protected:
  void TearDown() override { SetFolders({}); }
};

TEST_F(FoldersTest, WhatTheProgramGivesIsUsed) {
  SetFolders({"/app/cache", "/app/tmp", {"/app/lib"}});
  EXPECT_EQ(CacheFolder(), "/app/cache");
  EXPECT_EQ(TemporaryFolder(), "/app/tmp");
  EXPECT_EQ(CurrentFolders().libraries, std::vector<std::string>{"/app/lib"});
}

TEST_F(FoldersTest, TheCacheIsTheTemporaryFolderToo) {
  SetFolders({"/app/cache", "", {}});
  EXPECT_EQ(TemporaryFolder(), "/app/cache");
}

TEST_F(FoldersTest, WithoutThemTheSystemsFolder) {
  SetFolders({"", "", {}});
  EXPECT_NE(TemporaryFolder(), "");
}

}  // namespace
}  // namespace mlc
