// Models with layers of both kinds: some read all positions, the others a window.
#include "kv/page_groups.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kv/kv_world.h"

namespace mlc {
namespace {

using testing::Count;
using testing::KVWorld;
using testing::RunRandomly;
using testing::Tokens;
using testing::TwoGroups;

TEST(PageGroups, LayersWithAWindowHaveTheirOwnTable) {
  KVWorld world(30, 4, TwoGroups(/*num_windowed_pages=*/9, /*layer_window=*/6, /*sink=*/3));
  world.Start(1, Count(0, 100));
  ASSERT_TRUE(world.Compute(1, 20));
  for (int i = 0; i < 80; ++i) ASSERT_TRUE(world.Compute(1, 1));
  world.Check();
  EXPECT_EQ(world.cache().PagesToHold(100).of, (std::array<int, 2>{25, 4}));
  EXPECT_EQ(world.cache().PagesFreedBy(1).of, (std::array<int, 2>{25, 3}));
  EXPECT_EQ(std::count(world.cache().Pages(1).begin(), world.cache().Pages(1).end(), kNoPage), 0);
  const Tokens& windowed = world.cache().Pages(1, 1);
  for (size_t i = 1; i < 23; ++i) EXPECT_EQ(windowed[i], kNoPage) << i;
  EXPECT_FALSE(world.cache().Append(1, 30).ok()) << "the windowed pages are too few";
}

// A prompt in chunks, then an answer that is longer than the windowed pages.
void Converse(KVWorld* world, SequenceId id, const Tokens& prompt, int answer) {
  world->Start(id, prompt);
  while (world->Computed(id) < static_cast<int>(prompt.size())) {
    ASSERT_TRUE(world->Compute(id, 8));
  }
  for (int i = 0; i < answer; ++i) {
    world->Say(id, 5000 + i);
    ASSERT_TRUE(world->Compute(id, 1));
  }
  world->Check();
  world->End(id);
}

TEST(PageGroups, TheWindowAtTheEndOfAPromptIsKept) {
  KVWorld world(100, 4, TwoGroups(/*num_windowed_pages=*/9, /*layer_window=*/6));
  Converse(&world, 1, Count(0, 50), 100);
  Tokens next = Count(0, 50);
  for (int i = 0; i < 9; ++i) next.push_back(7000 + i);
  EXPECT_EQ(world.cache().CachedLength(0, next), 50);
  Tokens longer = Count(0, 50);
  for (int i = 0; i < 110; ++i) longer.push_back(5000 + i);
  EXPECT_EQ(world.cache().CachedLength(0, longer), 150) << "the end of the answer is there too";
  EXPECT_LT(world.cache().CachedLength(0, Count(0, 30)), 16) << "no other window is";
}

TEST(PageGroups, PromptsThatLeaveEachOtherMakeThatPlaceFindable) {
  KVWorld world(200, 4, TwoGroups(/*num_windowed_pages=*/9, /*layer_window=*/6));
  auto prompt = [](int own) {
    Tokens tokens = Count(0, 41);
    for (int i = 0; i < 40; ++i) tokens.push_back(1000 * own + i);
    return tokens;
  };
  Converse(&world, 1, prompt(1), 0);
  EXPECT_LT(world.cache().CachedLength(0, prompt(2)), 24);
  Converse(&world, 2, prompt(2), 0);
  EXPECT_GE(world.cache().CachedLength(0, prompt(3)), 40);
  Converse(&world, 3, prompt(3), 0);
}

TEST(PageGroups, APinnedPromptKeepsItsLastWindow) {
  KVWorld world(60, 4, TwoGroups(/*num_windowed_pages=*/12, /*layer_window=*/6));
  world.Start(1, Count(0, 41));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(world.Compute(1, 8));
  EXPECT_TRUE(world.cache().HasRoomToPin(0, Count(0, 40)));
  world.Pin(1, 40);
  EXPECT_EQ(world.cache().num_pinned_pages(0), 10);
  EXPECT_EQ(world.cache().num_pinned_pages(1), 2);
  world.End(1);
  world.Start(2, Count(1000, 60));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(world.Compute(2, 8));
  world.End(2);
  world.cache().ClearPrefixes();
  EXPECT_EQ(world.cache().CachedLength(0, Count(0, 50)), 40);
}

TEST(PageGroups, RandomSequencesWithTwoGroups) {
  for (uint32_t seed = 0; seed < 80; ++seed) {
    int window = 1 + static_cast<int>(seed % 13), sink = static_cast<int>(seed % 7);
    RunRandomly(seed, TwoGroups(6 + static_cast<int>(seed % 11), window, sink));
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace mlc
