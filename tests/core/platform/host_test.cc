#include "platform/host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

namespace mlc {
namespace {

TEST(Host, FiguresAreSane) {
  EXPECT_GE(NumAvailableCores(), 1);
  EXPECT_GT(AvailableMemoryBytes(), int64_t{1} << 20);
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
