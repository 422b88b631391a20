#include "platform/address_map.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(AddressMap, AnyPointerLeadsBackToItsBuffer) {
  AddressMap<int> map;
  int first = 1, second = 2;
  char* a = static_cast<char*>(map.Reserve(&first, 10000));
  char* b = static_cast<char*>(map.Reserve(&second, 0));
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(map.Find(a).buffer, &first);
  EXPECT_EQ(map.Find(a + 9999).offset, 9999u);
  EXPECT_EQ(map.Find(a + 10000).buffer, &first);  // the end belongs to it too
  EXPECT_EQ(map.Find(b).buffer, &second);
  int mine = 0;
  EXPECT_EQ(map.Find(&mine).buffer, nullptr);
  EXPECT_EQ(map.Find(nullptr).buffer, nullptr);
}

TEST(AddressMap, WhatIsReleasedIsForgotten) {
  AddressMap<int> map;
  int buffer = 1;
  void* address = map.Reserve(&buffer, 64);
  map.Release(address);
  EXPECT_EQ(map.Find(address).buffer, nullptr);
  map.Release(address);  // again: nothing
}

TEST(AddressMap, MemoryThatHasAddressesKeepsThem) {
  AddressMap<int> map;
  char memory[100];
  int buffer = 1;
  map.Add(memory, &buffer, sizeof(memory));
  EXPECT_EQ(map.Find(memory + 99).buffer, &buffer);
  EXPECT_EQ(map.Find(memory + 99).offset, 99u);
  EXPECT_EQ(map.Find(memory + 100).buffer, nullptr);  // another buffer may begin there
  EXPECT_EQ(map.Remove(memory), sizeof(memory));
  EXPECT_EQ(map.Remove(memory), 0u);
  EXPECT_EQ(map.Find(memory).buffer, nullptr);
}

}  // namespace
}  // namespace mlc
