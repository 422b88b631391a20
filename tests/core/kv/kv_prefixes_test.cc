#include <gtest/gtest.h>

#include "kv/kv_world.h"

namespace mlc {
namespace {

using testing::Count;
using testing::Keep;
using testing::KVWorld;
using testing::RunRandomly;
using testing::Tokens;
using testing::Window;

TEST(KVPrefixes, ARetiredSequenceIsFound) {
  KVWorld world(20, 4, Keep());
  EXPECT_EQ(world.Start(1, Count(0, 10)), 0);
  ASSERT_TRUE(world.Compute(1, 10));
  world.End(1);
  EXPECT_EQ(world.cache().num_free_pages(), 17);
  EXPECT_EQ(world.cache().num_available_pages(), 20);
  EXPECT_EQ(world.Start(2, Count(0, 30)), 10);  // the third page is a copy
  EXPECT_EQ(world.Start(3, Count(0, 10)), 9);   // the last token's logits are wanted
  EXPECT_EQ(world.Start(4, Count(0, 6)), 5);
  EXPECT_EQ(world.Start(5, Count(1, 6)), 0);
  for (SequenceId id : {2, 3, 4, 5}) ASSERT_TRUE(world.Compute(id, 100));
  world.Check();
}

TEST(KVPrefixes, WhatRunsIsFoundByFullPages) {
  KVWorld world(20, 4, Keep());
  world.Start(1, Count(0, 11));
  ASSERT_TRUE(world.Compute(1, 11));
  EXPECT_EQ(world.Start(2, Count(0, 11)), 8);
  EXPECT_EQ(world.cache().num_free_pages(), 17);  // its pages are those of the first
  world.Pop(1, 5);                                // into a page that others read
  world.Say(1, 100);
  ASSERT_TRUE(world.Compute(1, 1));
  ASSERT_TRUE(world.Compute(2, 10));
  world.Check();
}

TEST(KVPrefixes, TwoThatComputeTheSameEndUpSharing) {
  KVWorld world(20, 4, Keep());
  world.Start(1, Count(0, 8));
  world.Start(2, Count(0, 8));
  ASSERT_TRUE(world.Compute(1, 8));
  ASSERT_TRUE(world.Compute(2, 8));
  EXPECT_EQ(world.cache().Pages(1), world.cache().Pages(2));
  EXPECT_EQ(world.cache().num_free_pages(), 18);
  world.Check();
}

TEST(KVPrefixes, PinnedPagesAreNotEvicted) {
  KVWorld world(12, 4, Keep());
  world.Start(1, Count(0, 11));
  ASSERT_TRUE(world.Compute(1, 11));
  world.Pin(1, 11);
  world.Pin(1, 11);                                // once is enough
  EXPECT_EQ(world.cache().num_pinned_pages(), 2);  // full ones
  world.End(1);
  EXPECT_EQ(world.cache().num_available_pages(), 10);
  EXPECT_TRUE(world.cache().HasRoomToPin(0, Count(0, 27)));  // two of six pages are pinned
  EXPECT_FALSE(world.cache().HasRoomToPin(0, Count(1, 27)));
  world.Start(2, Count(100, 40));  // all the others
  ASSERT_TRUE(world.Compute(2, 40));
  world.End(2);
  world.cache().ClearPrefixes();
  EXPECT_EQ(world.cache().num_free_pages(), 10);
  EXPECT_EQ(world.Start(3, Count(0, 30)), 8);
  ASSERT_TRUE(world.Compute(3, 22));
  world.Check();
  world.End(3);
  world.cache().UnpinAll();
  world.cache().ClearPrefixes();
  EXPECT_EQ(world.cache().num_pinned_pages(), 0);
  EXPECT_EQ(world.cache().num_free_pages(), 12);
}

TEST(KVPrefixes, AtMostHalfOfThePagesArePinned) {
  KVWorld world(12, 4, Keep());
  world.Start(1, Count(0, 40));
  ASSERT_TRUE(world.Compute(1, 40));
  world.Pin(1, 40);
  EXPECT_EQ(world.cache().num_pinned_pages(), 6);
  EXPECT_TRUE(world.cache().HasRoomToPin(0, Count(0, 24)));  // those in front are pinned
  EXPECT_FALSE(world.cache().HasRoomToPin(0, Count(0, 28)));
}

TEST(KVPrefixes, OffKeepsNothing) {
  KVWorld world(4, 4, KVCacheOptions());
  world.Start(1, Count(0, 16));
  ASSERT_TRUE(world.Compute(1, 16));
  EXPECT_EQ(world.cache().CachedLength(0, Count(0, 16)), 0);
  world.End(1);
  EXPECT_EQ(world.cache().num_free_pages(), 4);
}

TEST(KVPrefixes, AtMostSoManySequencesAreKept) {
  KVWorld world(100, 4, Keep(/*max_cached=*/2));
  for (SequenceId id : {1, 2, 3}) {
    Tokens tokens = Count(0, 8);  // common to all
    for (int32_t token : Count(100 * static_cast<int>(id), 20)) tokens.push_back(token);
    world.Start(id, tokens);
    ASSERT_TRUE(world.Compute(id, 100));
    world.End(id);
  }
  auto cached = [&](int id) {
    Tokens tokens = Count(0, 8);
    for (int32_t token : Count(100 * id, 20)) tokens.push_back(token);
    return world.cache().CachedLength(0, tokens);
  };
  EXPECT_EQ(cached(1), 8);
  EXPECT_EQ(cached(2), 27);
  EXPECT_EQ(cached(3), 27);
  world.cache().ClearPrefixes();
  EXPECT_EQ(world.cache().num_free_pages(), 100);
}

TEST(KVPrefixes, TheLastPagesServeATakeover) {
  KVWorld world(4, 4, Keep());
  world.Start(1, Count(0, 14));
  ASSERT_TRUE(world.Compute(1, 14));
  world.End(1);
  EXPECT_EQ(world.cache().num_free_pages(), 0);
  EXPECT_EQ(world.Start(2, Count(0, 16)), 14);  // the copied page is evicted for its copy
  ASSERT_TRUE(world.Compute(2, 2));
  world.Check();
}

TEST(KVPrefixes, AWindowGivesUpWhatNoRowReads) {
  KVWorld world(20, 4, Window(/*window=*/6, /*sink=*/3));
  world.Start(1, Count(0, 100));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(world.Compute(1, 1));
    EXPECT_LE(20 - world.cache().num_available_pages(), world.cache().PagesToHold(100).of[0]);
  }
  EXPECT_EQ(world.cache().PagesToHold(100).of[0], 4);
  const Tokens& pages = world.cache().Pages(1);
  EXPECT_EQ(pages.size(), 25u);
  for (size_t i = 1; i < 23; ++i) EXPECT_EQ(pages[i], kNoPage) << i;
  world.End(1);
  EXPECT_EQ(world.cache().num_available_pages(), 20);
}

TEST(KVPrefixes, ASlidSequenceIsFoundWhereItsWindowIsWhole) {
  KVWorld world(8, 4, Window(/*window=*/6, /*sink=*/3));
  world.Start(1, Count(0, 90));
  for (int i = 0; i < 45; ++i) ASSERT_TRUE(world.Compute(1, 2));
  world.End(1);
  EXPECT_EQ(world.cache().CachedLength(0, Count(0, 120)), 90);
  // What it left behind has not been needed by others yet; there is a hole behind it.
  EXPECT_EQ(world.cache().CachedLength(0, Count(0, 50)), 12);
  EXPECT_EQ(world.Start(2, Count(0, 120)), 90);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(world.Compute(2, 1));
  world.Check();
}

TEST(KVPrefixes, RandomSequencesReadTheirOwnTokens) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    RunRandomly(seed, Keep(seed % 3 == 0 ? static_cast<int>(seed % 5) : -1));
    ASSERT_FALSE(HasFailure());
  }
}

TEST(KVPrefixes, RandomSequencesUnderAWindow) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    RunRandomly(seed, Window(1 + static_cast<int>(seed % 13), static_cast<int>(seed % 7)));
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace mlc
