#include "kv/state_slots.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(StateSlots, OwnersAndTheTreeHoldThem) {
  StateSlots slots(2);
  int32_t slot = slots.Take();
  EXPECT_EQ(slots.num_free(), 1);
  EXPECT_TRUE(slots.IsOnlyOwned(slot));
  slots.Hold(slot);
  EXPECT_FALSE(slots.IsOnlyOwned(slot));
  slots.Release(slot);
  slots.Keep(slot);
  EXPECT_FALSE(slots.IsOnlyOwned(slot)) << "others will read it";
  slots.Release(slot);
  EXPECT_EQ(slots.num_free(), 1);
  EXPECT_EQ(slots.num_available(), 2);
  EXPECT_EQ(slots.OldestIdle(), slot);
  slots.Drop(slot);
  EXPECT_EQ(slots.num_free(), 2);
  EXPECT_EQ(slots.OldestIdle(), kNoState);
}

TEST(StateSlots, TheOneUsedLongestAgoIsGivenUpFirst) {
  StateSlots slots(3);
  int32_t a = slots.Take(), b = slots.Take(), c = slots.Take();
  for (int32_t slot : {a, b, c}) slots.Keep(slot);
  for (int32_t slot : {b, a, c}) slots.Release(slot);
  EXPECT_EQ(slots.OldestIdle(), b);
  slots.Hold(b);
  EXPECT_EQ(slots.OldestIdle(), a);
  slots.Release(b);
  EXPECT_EQ(slots.OldestIdle(), a) << "b was used since";
}

}  // namespace
}  // namespace mlc
