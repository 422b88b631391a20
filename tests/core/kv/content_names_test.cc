#include "kv/content_names.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(ContentNames, EachContentHasItsOwn) {
  ContentNames names;
  int32_t first = *names.NameOf(HashContent("a")), second = *names.NameOf(HashContent("b"));
  EXPECT_LT(first, 0) << "no token id";
  EXPECT_LT(second, 0);
  EXPECT_NE(first, second);
  EXPECT_EQ(*names.NameOf(HashContent("a")), first);
}

TEST(ContentNames, WhatWasUsedLastIsRemembered) {
  ContentNames names(/*most=*/2);
  int32_t a = *names.NameOf(HashContent("a")), b = *names.NameOf(HashContent("b"));
  EXPECT_EQ(*names.NameOf(HashContent("a")), a);
  int32_t c = *names.NameOf(HashContent("c"));  // in the place of b
  EXPECT_EQ(*names.NameOf(HashContent("a")), a);
  int32_t again = *names.NameOf(HashContent("b"));
  for (int32_t other : {a, b, c}) EXPECT_NE(again, other) << "no name is given twice";
}

}  // namespace
}  // namespace mlc
