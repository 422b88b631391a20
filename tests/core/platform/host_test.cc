#include "platform/host.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#if defined(__GLIBC__)
#include <unistd.h>
#endif

namespace mlc {
namespace {

TEST(Host, FiguresAreSane) {
  EXPECT_GE(NumAvailableCores(), 1);
  EXPECT_GT(AvailableMemoryBytes(), int64_t{1} << 20);
}

TEST(Host, TheProcessIsNotEnding) { EXPECT_FALSE(ProcessIsEnding()); }

TEST(Host, AVariableThatIsNotSetIsEmpty) {
  EXPECT_EQ(EnvironmentText("MLC_TEST_NOBODY_SETS_THIS"), "");
  EXPECT_NE(EnvironmentText("PATH"), "");
}

TEST(Host, TheTimeIsInThisCentury) {
  std::tm time = LocalTime(1'700'000'000);  // 14 November 2023, 22:13:20 in Greenwich
  EXPECT_EQ(time.tm_year, 123);
  EXPECT_EQ(time.tm_mon, 10);
  EXPECT_GE(time.tm_mday, 14);
  EXPECT_LE(time.tm_mday, 15);
  EXPECT_EQ(time.tm_sec, 20);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(Host, FreeMemoryIsGivenBack) {
  constexpr size_t kBlock = 64 << 10, kNumBlocks = 512;  // 32 MB, in blocks of the heap
  std::vector<std::unique_ptr<char[]>> blocks;
  for (size_t i = 0; i < kNumBlocks; ++i) {
    blocks.emplace_back(new char[kBlock]);
    std::memset(blocks.back().get(), 1, kBlock);
  }
  std::unique_ptr<char[]> last = std::move(blocks.back());  // what is free is not at the heap's end
  blocks.clear();
  int64_t before = ResidentBytes();
  ReleaseFreeMemory();
  EXPECT_GT(before - ResidentBytes(), int64_t{24} << 20);
}
#endif

}  // namespace
}  // namespace mlc
