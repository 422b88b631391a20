#include "engine/row_cache.h"

#include <gtest/gtest.h>

#include <vector>

namespace mlc {
namespace {

RowValues Values(size_t count) { return std::make_shared<const std::vector<float>>(count, 1.0f); }

TEST(RowCache, KeepsWhatWasUsedLast) {
  RowCache cache(int64_t{sizeof(float)} * 10);
  ContentHash a = HashContent("a"), b = HashContent("b"), c = HashContent("c");
  RowValues kept = Values(4);
  cache.Put(a, kept);
  cache.Put(b, Values(6));
  EXPECT_EQ(cache.num_bytes(), 40);
  EXPECT_EQ(cache.Find(a), kept);
  cache.Put(c, Values(5));
  EXPECT_EQ(cache.Find(b), nullptr) << "it was not used for longest";
  EXPECT_EQ(cache.Find(a), kept);
  EXPECT_EQ(cache.num_bytes(), 36);
  EXPECT_EQ(cache.num_hits(), 2);
}

TEST(RowCache, WhatExceedsTheBudgetIsNotKept) {
  RowCache cache(int64_t{sizeof(float)} * 10);
  cache.Put(HashContent("a"), Values(4));
  cache.Put(HashContent("b"), Values(11));
  EXPECT_EQ(cache.Find(HashContent("b")), nullptr);
  EXPECT_NE(cache.Find(HashContent("a")), nullptr) << "nothing left for it";
  cache.Clear();
  EXPECT_EQ(cache.num_bytes(), 0);
  EXPECT_EQ(cache.Find(HashContent("a")), nullptr);
}

}  // namespace
}  // namespace mlc
