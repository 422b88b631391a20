#include "platform/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace mlc {
namespace {

TEST(DiscardMemory, WholePagesAloneAndTheyCanBeWrittenAgain) {
  int64_t page = sysconf(_SC_PAGESIZE);
  size_t size = static_cast<size_t>(4 * page);
  std::unique_ptr<void, decltype(&std::free)> owner(
      std::aligned_alloc(static_cast<size_t>(page), size), &std::free);
  char* data = static_cast<char*>(owner.get());
  std::fill_n(data, size, 'x');
  EXPECT_EQ(DiscardMemory(data + 1, 2 * page), page);
  EXPECT_EQ(data[page - 1], 'x');
  EXPECT_EQ(data[2 * page], 'x');
#if defined(__linux__)
  EXPECT_EQ(data[page], '\0');  // the system gave a new page
#endif
  data[page] = 'y';
  EXPECT_EQ(data[page], 'y');
  EXPECT_EQ(DiscardMemory(data + 1, page), 0);
  EXPECT_EQ(DiscardMemory(data, 0), 0);
  EXPECT_EQ(DiscardMemory(nullptr, page), 0);
}

TEST(TouchMemory, CountsTheBytes) {
  char data[10] = {};
  EXPECT_EQ(TouchMemory(data, 10), 10);
  EXPECT_EQ(TouchMemory(nullptr, 10), 0);
}

}  // namespace
}  // namespace mlc
