#include "platform/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <new>

#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace mlc {
namespace {

int64_t PageBytes() {
#if defined(_WIN32)
  return 4096;  // of x86-64
#else
  return sysconf(_SC_PAGESIZE);
#endif
}

TEST(DiscardMemory, WholePagesAloneAndTheyCanBeWrittenAgain) {
  const int64_t page = PageBytes();
  const size_t size = static_cast<size_t>(4 * page);
  const std::align_val_t alignment{static_cast<size_t>(page)};
  auto give_back = [alignment](char* block) { ::operator delete(block, alignment); };
  std::unique_ptr<char, decltype(give_back)> owner(
      static_cast<char*>(::operator new(size, alignment)), give_back);
  char* data = owner.get();
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
