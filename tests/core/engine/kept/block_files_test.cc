// The folder of blocks: what is damaged, too old or too much goes, and nothing else does.
#include "engine/kept/block_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "support/temp_folder.h"

namespace mlc {
namespace {

namespace fs = std::filesystem;
using testing::TempFolder;

const std::string kHead = "the head of a file", kPages(1000, 'p');

ContentHash Key(int number) { return HashContent(std::to_string(number)); }

std::string PathOfKey(const std::string& folder, int number) {
  return folder + "/" + ContentHashText(Key(number)) + ".kv";
}

PrefixFolder Within(const std::string& path, int64_t max_bytes = 1 << 20) {
  PrefixFolder folder;
  folder.path = path;
  folder.max_bytes = max_bytes;
  return folder;
}

void SetAge(const std::string& path, std::chrono::minutes age) {
  fs::last_write_time(fs::u8path(path), fs::file_time_type::clock::now() - age);
}

int64_t BytesIn(const std::string& folder) {
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(fs::u8path(folder))) {
    bytes += static_cast<int64_t>(entry.file_size());
  }
  return bytes;
}

TEST(BlockFiles, WhatIsWrittenIsRead) {
  TempFolder folder;
  BlockFiles files(Within(folder.Path("new/folder")));
  files.Prepare();
#if !defined(_WIN32)
  EXPECT_EQ(fs::status(folder.Path("new/folder")).permissions(), fs::perms::owner_all)
      << "others cannot read it";
#endif
  EXPECT_FALSE(files.Has(Key(1)));
  EXPECT_FALSE(files.Use(Key(1)));
  EXPECT_EQ(files.Read(Key(1), kHead, 1000).owner, nullptr);
  EXPECT_TRUE(files.Write(Key(1), kHead, kPages));
  EXPECT_TRUE(files.Has(Key(1)));
  EXPECT_TRUE(files.Use(Key(1)));
  BlockFiles others(Within(folder.Path("new/folder")));
  EXPECT_EQ(others.Read(Key(1), kHead, 1000).body, kPages);
}

TEST(BlockFiles, DamageIsRemovedAndNamed) {
  TempFolder folder;
  BlockFiles files(Within(folder.path()));
  ASSERT_TRUE(files.Write(Key(1), kHead, kPages));
  const std::string path = PathOfKey(folder.path(), 1), bytes = *ReadFile(path);
  std::vector<std::string> damaged = {"", bytes + "x"};
  for (size_t at = 0; at < bytes.size(); at += at < 40 || at > bytes.size() - 40 ? 1 : 50) {
    damaged.push_back(bytes.substr(0, at));
    damaged.push_back(bytes);
    damaged.back()[at] ^= 0x10;
  }
  for (const std::string& content : damaged) {
    folder.Write(ContentHashText(Key(1)) + ".kv", content);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(files.Read(Key(1), kHead, 1000).owner, nullptr);
    std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find(path), std::string::npos) << log;
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
    EXPECT_FALSE(FileExists(path));
  }
  EXPECT_TRUE(files.Write(Key(1), kHead, kPages)) << "it can be written again";
  EXPECT_EQ(files.Read(Key(1), kHead, 1000).body, kPages);
}

TEST(BlockFiles, TheLeastRecentlyUsedOnesGo) {
  TempFolder folder;
  BlockFiles files(Within(folder.path(), 10500));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(files.Write(Key(i), kHead, kPages));
    SetAge(PathOfKey(folder.path(), i), std::chrono::minutes(100 - i));
  }
  EXPECT_LE(BytesIn(folder.path()), 10500);
  EXPECT_TRUE(files.Use(Key(0)));
  ASSERT_TRUE(files.Write(Key(10), kHead, kPages));
  EXPECT_LE(BytesIn(folder.path()), 10500);
  EXPECT_TRUE(files.Has(Key(0))) << "it was used";
  EXPECT_FALSE(files.Has(Key(1)));
  EXPECT_TRUE(files.Has(Key(9)));
  EXPECT_TRUE(files.Has(Key(10)));
}

// Blocks of a prefix are of no use without those before them, so these must not go first.
TEST(BlockFiles, OfTheSamePrefixTheLastBlocksGoFirst) {
  TempFolder folder;
  BlockFiles files(Within(folder.path()));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(files.Write(Key(i), kHead, kPages));
  for (int i = 9; i >= 0; --i) ASSERT_TRUE(files.Use(Key(i)));
  BlockFiles(Within(folder.path(), 5500)).Prepare();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(files.Has(Key(i)), i < 4) << i;
}

TEST(BlockFiles, AgeAndWhatKilledProcessesLeft) {
  using std::chrono::hours;
  TempFolder folder;
  BlockFiles files(Within(folder.path()));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(files.Write(Key(i), kHead, kPages));
  SetAge(PathOfKey(folder.path(), 0), hours(24 * 31));
  SetAge(PathOfKey(folder.path(), 1), hours(24 * 29));
  std::string unfinished = ContentHashText(Key(3)) + ".kv.";
  std::vector<std::string> kept = {unfinished + "new111", "notes.txt", "chat.kv",
                                   ContentHashText(Key(4)) + ".kvx"};
  for (const std::string& name : kept) folder.Write(name, "text");
  for (size_t i = 1; i < kept.size(); ++i) SetAge(folder.Path(kept[i]), hours(24 * 400));
  SetAge(folder.Write(unfinished + "old111", "half"), hours(2));
  files.Prepare();
  EXPECT_FALSE(files.Has(Key(0)));
  EXPECT_TRUE(files.Has(Key(1)));
  EXPECT_FALSE(FileExists(folder.Path(unfinished + "old111")));
  for (const std::string& name : kept) EXPECT_TRUE(FileExists(folder.Path(name))) << name;
}

TEST(BlockFiles, AFolderThatCannotBeWrittenCostsOneLine) {
  TempFolder folder;
  folder.Write("file", "no folder");
  BlockFiles files(Within(folder.Path("file")));
  ::testing::internal::CaptureStderr();
  files.Prepare();
  EXPECT_FALSE(files.Write(Key(1), kHead, kPages));
  EXPECT_FALSE(files.Write(Key(2), kHead, kPages));
  EXPECT_FALSE(files.writes());
  EXPECT_EQ(files.Read(Key(1), kHead, 1000).owner, nullptr);
  std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  EXPECT_NE(log.find(folder.Path("file")), std::string::npos) << log;
}

}  // namespace
}  // namespace mlc
