#include "platform/file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#if defined(_WIN32)
#include "platform/paths.h"
#include "platform/windows/system.h"
#else
#include <sys/stat.h>
#endif

#include "support/temp_folder.h"

namespace mlc {
namespace {

using testing::TempFolder;

TEST(JoinInside, KeepsPathsInTheirFolder) {
  for (const char* inside : {"a", "a/b.bin", "..a", "a..", "a/..b/c", "./a", "a//b", "..."}) {
    Result<std::string> joined = JoinInside("/models/m", inside);
    ASSERT_TRUE(joined.ok()) << inside;
    EXPECT_EQ(*joined, std::string("/models/m/") + inside);
  }
}

TEST(JoinInside, RefusesPathsThatLeaveIt) {
  const std::string_view outside[] = {"",
                                      "/etc/passwd",
                                      "..",
                                      "../x",
                                      "a/..",
                                      "a/../../x",
                                      "a/b/../",
                                      "..\\x",
                                      "/",
                                      "a\\b",
                                      std::string_view("a\0b", 3)};
  for (std::string_view path : outside) {
    Result<std::string> joined = JoinInside("/models/m", path);
    ASSERT_FALSE(joined.ok()) << path;
    EXPECT_EQ(joined.status().code(), StatusCode::kCorrupt) << path;
  }
}

TEST(ReadFile, ReadsEveryByte) {
  TempFolder folder;
  std::string bytes("a\0\xff\n", 4);
  Result<std::string> read = ReadFile(folder.Write("f", bytes));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, bytes);
  EXPECT_EQ(*ReadFile(folder.Write("empty", "")), "");
}

TEST(ReadFile, RefusesWhatIsTooLong) {
  TempFolder folder;
  std::string path = folder.Write("f", "12345");
  EXPECT_TRUE(ReadFile(path, 5).ok());
  EXPECT_EQ(ReadFile(path, 4).status().code(), StatusCode::kResourceExhausted);
}

#if defined(_WIN32)
TEST(JoinInside, RefusesDrivesAndStreams) {
  for (std::string_view path : {"C:x", "C:/x", "file:stream", "a/b:c"}) {
    EXPECT_EQ(JoinInside("/models/m", path).status().code(), StatusCode::kCorrupt) << path;
  }
}

TEST(ReadFile, ADeviceIsNoFile) {
  TempFolder folder;
  for (const std::string& path : {std::string("NUL"), folder.Path("NUL")}) {
    EXPECT_EQ(ReadFile(path).status().code(), StatusCode::kNotFound) << path;
  }
}

TEST(ReadFile, TakesBackslashesToo) {
  TempFolder folder;
  std::string path = folder.Write("f", "x");
  std::replace(path.begin(), path.end(), '/', '\\');
  EXPECT_EQ(*ReadFile(path), "x");
}
#endif

#if defined(_WIN32)
TEST(MakeWritableFolder, TakesPathsAsWindowsWritesThem) {
  TempFolder folder;
  std::string backslashes = folder.path();
  std::replace(backslashes.begin(), backslashes.end(), '/', '\\');
  for (const std::string& path : {folder.Path("a/b/"), folder.Path("c//d/../e"),
                                  backslashes + "\\f\\g", "\\\\?\\" + backslashes + "\\h\\i"}) {
    Status status = MakeWritableFolder(path);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(MakeWritableFolder(path).ok()) << path;  // which is there now
  }
  for (const char* made : {"a/b", "c/e", "f/g", "h/i"}) {
    EXPECT_TRUE(std::filesystem::is_directory(PathOf(folder.Path(made)))) << made;
  }
}

TEST(MakeWritableFolder, SaysWhyItCannot) {
  TempFolder folder;
  std::string file = folder.Write("f", "x");
  EXPECT_NE(MakeWritableFolder(file).message().find("File exists"), std::string::npos);
  // The reason is that of the first folder that cannot be made.
  EXPECT_NE(MakeWritableFolder(file + "/a/b").message().find("File exists"), std::string::npos);
  EXPECT_EQ(MakeWritableFolder("").code(), StatusCode::kInvalidArgument);
}

TEST(ReplaceFile, TakesTheNameOfAnOpenFile) {
  if (GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr) {
    GTEST_SKIP() << "wine 8 does not know Windows 10's rename";
  }
  TempFolder folder;
  std::string path = folder.Write("f", "old");
  HANDLE open = CreateFileW(windows::WidePath(path).c_str(), GENERIC_READ,
                            FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                            OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  ASSERT_NE(open, INVALID_HANDLE_VALUE);
  Status status = ReplaceFile(path, {"new"});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(*ReadFile(path), "new");
  char bytes[3];
  DWORD got = 0;
  EXPECT_TRUE(::ReadFile(open, bytes, sizeof(bytes), &got, nullptr));
  EXPECT_EQ(std::string(bytes, got), "old");
  CloseHandle(open);
}
#endif

// Letters of several scripts, in UTF-8 on every system.
TEST(Files, PathsAreUtf8) {
  TempFolder folder;
  std::string inner = folder.Path("Modèle 模型 \xf0\x9f\xa6\x99");
  ASSERT_TRUE(MakeWritableFolder(inner).ok());
  std::string path = inner + "/Größe.bin";
  ASSERT_TRUE(ReplaceFile(path, {"hello"}).ok());
  EXPECT_TRUE(FileExists(path));
  EXPECT_EQ(*ReadFile(path), "hello");
  EXPECT_EQ((*MappedFile::Open(path))->size(), 5);
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::u8path(path)));
}

// Windows' functions take 259 characters of a plain path.
TEST(Files, PathsMayBeLong) {
  TempFolder folder;
  std::string inner = folder.path();
  for (int i = 0; i < 4; ++i) inner += "/" + std::string(100, static_cast<char>('a' + i));
  ASSERT_TRUE(MakeWritableFolder(inner).ok());
  ASSERT_TRUE(ReplaceFile(inner + "/f", {"long"}).ok());
  EXPECT_EQ(*ReadFile(inner + "/f"), "long");
}

TEST(WriteNewFile, EachHasANameOfItsOwn) {
  TempFolder folder;
  Result<std::string> one = WriteNewFile(folder.Path("x-"), "one", ".so");
  Result<std::string> two = WriteNewFile(folder.Path("x-"), "two", ".so");
  ASSERT_TRUE(one.ok() && two.ok()) << one.status().message();
  EXPECT_NE(*one, *two);
  EXPECT_EQ(*ReadFile(*one), "one");
  EXPECT_EQ(*ReadFile(*two), "two");
  EXPECT_EQ(one->rfind(folder.Path("x-"), 0), 0u);
  EXPECT_EQ(one->substr(one->size() - 3), ".so");
  RemoveFile(*one);
  RemoveFile(*one);  // which is not there now
  EXPECT_FALSE(FileExists(*one));
  Status none = WriteNewFile(folder.Path("absent/x-"), "x", "").status();
  EXPECT_EQ(none.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(none.message().find("No such file or directory"), std::string::npos) << none.message();
}

// Everything that can stand where a file should; a pipe nobody writes to must not be waited for.
TEST(Files, WhatIsNoRegularFileIsNotFound) {
  TempFolder folder;
#if !defined(_WIN32)
  ASSERT_EQ(::mkfifo(folder.Path("pipe").c_str(), 0600), 0);
#endif
  for (const std::string& path :
       {folder.Path("absent"), folder.path(), folder.Path("pipe"), folder.Path("absent/x")}) {
    EXPECT_EQ(ReadFile(path).status().code(), StatusCode::kNotFound) << path;
    Result<std::shared_ptr<MappedFile>> mapped = MappedFile::Open(path);
    ASSERT_FALSE(mapped.ok()) << path;
    EXPECT_EQ(mapped.status().code(), StatusCode::kNotFound) << path;
    EXPECT_NE(mapped.status().message().find(path), std::string::npos);
  }
  EXPECT_TRUE(ReadFile(folder.Path("absent")).status().Is(Reason::kFileNotFound));
}

TEST(FileExists, OfFilesAndFolders) {
  TempFolder folder;
  EXPECT_FALSE(FileExists(folder.Path("f")));
  folder.Write("f", "");
  EXPECT_TRUE(FileExists(folder.Path("f")));
  EXPECT_TRUE(FileExists(folder.path()));
}

TEST(MappedFile, ShowsTheBytesAfterTheFileIsGone) {
  TempFolder folder;
  std::string path = folder.Write("f", "hello");
  std::shared_ptr<MappedFile> file = *MappedFile::Open(path);
  RemoveFile(path);  // Windows may keep it as long as it is mapped
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file->data()), file->size()), "hello");
}

#if defined(__linux__)
// The flag "hg" in the kernel's list of this process's mappings.
TEST(MappedFile, AsksForLargePages) {
  if (!FileExists("/sys/kernel/mm/transparent_hugepage")) GTEST_SKIP() << "the kernel has none";
  TempFolder folder;
  std::string path = folder.Write("weights", std::string(1 << 16, 'w'));
  std::shared_ptr<MappedFile> file = *MappedFile::Open(path);
  std::ifstream maps("/proc/self/smaps");
  bool found = false;
  std::string line, flags;
  while (flags.empty() && std::getline(maps, line)) {
    if (line.find(path) != std::string::npos) found = true;
    if (found && line.rfind("VmFlags:", 0) == 0) flags = line + " ";
  }
  EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
}
#endif

TEST(MappedFile, AnEmptyFileHasNoBytes) {
  TempFolder folder;
  EXPECT_EQ((*MappedFile::Open(folder.Write("empty", "")))->size(), 0);
}

TEST(ReplaceFile, WritesTheWholeOrNothing) {
  TempFolder folder;
  std::string path = folder.Path("file");
  ASSERT_TRUE(ReplaceFile(path, {"one", "", "two"}).ok());
  EXPECT_EQ(*ReadFile(path), "onetwo");
  ASSERT_TRUE(ReplaceFile(path, {"three"}).ok());
  EXPECT_EQ(*ReadFile(path), "three");
  Status status = ReplaceFile(folder.Path("absent/file"), {"x"});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.param(), "path");
  EXPECT_FALSE(ReplaceFile(folder.path(), {"x"}).ok());  // a folder
#if !defined(_WIN32)
  ASSERT_EQ(::mkfifo(folder.Path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(ReplaceFile(folder.Path("pipe"), {"x"}).ok());  // it is no file of the caller's
#endif
  EXPECT_EQ(*ReadFile(path), "three");
}

}  // namespace
}  // namespace mlc
