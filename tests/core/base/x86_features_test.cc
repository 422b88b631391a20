#include "base/x86_features.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(X86Features, WhatIsNotKnownIsAbsent) {
  EXPECT_FALSE(HasX86Feature(""));
  EXPECT_FALSE(HasX86Feature("what nobody knows"));
}

#if defined(__x86_64__) && defined(__linux__)
TEST(X86Features, AgreeWithTheCompilers) {
#define MLC_AGREES(name) EXPECT_EQ(HasX86Feature(name), __builtin_cpu_supports(name) != 0) << name
  MLC_AGREES("ssse3");
  MLC_AGREES("sse4.1");
  MLC_AGREES("sse4.2");
  MLC_AGREES("popcnt");
  MLC_AGREES("avx");
  MLC_AGREES("avx2");
  MLC_AGREES("bmi");
  MLC_AGREES("bmi2");
  MLC_AGREES("fma");
  MLC_AGREES("f16c");
  MLC_AGREES("gfni");
  MLC_AGREES("avxvnni");
  MLC_AGREES("avx512f");
  MLC_AGREES("avx512bw");
  MLC_AGREES("avx512cd");
  MLC_AGREES("avx512dq");
  MLC_AGREES("avx512vl");
  MLC_AGREES("avx512ifma");
  MLC_AGREES("avx512vbmi");
  MLC_AGREES("avx512vbmi2");
  MLC_AGREES("avx512vnni");
  MLC_AGREES("avx512bitalg");
  MLC_AGREES("avx512vpopcntdq");
  MLC_AGREES("avx512bf16");
#undef MLC_AGREES
  EXPECT_TRUE(HasX86Feature("ssse3") || !HasX86Feature("avx2"));
}
#endif

}  // namespace
}  // namespace mlc
