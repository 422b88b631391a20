// Recurrent states of sequences: which slots a step reads and writes, and what is found later.
#include <gtest/gtest.h>

#include "kv/kv_cache.h"

namespace mlc {
namespace {

constexpr int kPageSize = 4;

KVCacheOptions WithStates(int num_states) {
  KVCacheOptions options;
  options.keep_prefixes = true;
  options.num_states = num_states;
  return options;
}

std::vector<int32_t> Ids(int count, int32_t first = 0) {
  std::vector<int32_t> ids;
  for (int i = 0; i < count; ++i) ids.push_back(first + i);
  return ids;
}

class KVStates : public ::testing::Test {
 protected:
  KVCache::StepStates Append(SequenceId id, int rows, int drafts = 0, std::vector<int> kept = {}) {
    EXPECT_TRUE(cache_.Append(id, rows).ok());
    Result<KVCache::StepStates> states = cache_.AppendStates(id, rows, drafts, kept);
    EXPECT_TRUE(states.ok());
    return *states;
  }
  static std::vector<int> Lengths(const KVCache::StepStates& states) {
    std::vector<int> lengths;
    for (const auto& write : states.writes) lengths.push_back(write.length);
    return lengths;
  }
  KVCache cache_{32, kPageSize, WithStates(8)};
};

TEST_F(KVStates, ASequenceAloneWritesItsSlotOverAndOver) {
  cache_.Add(1);
  KVCache::StepStates first = Append(1, 6);
  EXPECT_EQ(first.source, kNoState);
  EXPECT_EQ(Lengths(first), (std::vector<int>{6}));
  KVCache::StepStates second = Append(1, 1);
  EXPECT_EQ(second.source, first.writes[0].slot);
  EXPECT_EQ(second.writes[0].slot, second.source);
  EXPECT_EQ(cache_.states().num_free(), 7);
  cache_.Remove(1);
  EXPECT_EQ(cache_.states().num_free(), 8);
}

TEST_F(KVStates, AForkSharesUntilItWrites) {
  cache_.Add(1);
  int32_t shared = Append(1, 6).writes[0].slot;
  cache_.Fork(1, 2, 6);
  for (SequenceId id : {1, 2}) {
    KVCache::StepStates states = Append(id, 1);
    EXPECT_EQ(states.source, shared);
    EXPECT_NE(states.writes[0].slot, shared) << "in the same step the other one reads it";
  }
  for (SequenceId id : {1, 2}) cache_.Pop(id, 0);
  EXPECT_EQ(cache_.states().num_free(), 6);
  EXPECT_NE(cache_.StateOf(1), cache_.StateOf(2));
}

TEST_F(KVStates, DraftsAreTakenBackToAnyOfThem) {
  for (int accepted = 0; accepted <= 3; ++accepted) {
    cache_.Add(1);
    Append(1, 6);
    KVCache::StepStates states = Append(1, 4, /*drafts=*/3);
    EXPECT_EQ(Lengths(states), (std::vector<int>{7, 8, 9, 10}));
    cache_.Publish(1, Ids(10), 7);
    cache_.Pop(1, 3 - accepted);
    EXPECT_EQ(cache_.Length(1), 7 + accepted);
    EXPECT_EQ(cache_.StateOf(1), states.writes[static_cast<size_t>(accepted)].slot);
    EXPECT_EQ(cache_.states().num_free(), 7);
    cache_.Remove(1);
    cache_.ClearPrefixes();
  }
}

// Slots are short: a refused draft sends the sequence back to where the step began.
TEST(KVStatesShort, WithoutSlotsToSpareMoreIsTakenBack) {
  KVCache cache(32, kPageSize, WithStates(2));
  cache.Add(1);
  ASSERT_TRUE(cache.Append(1, 6).ok());
  int32_t before = cache.AppendStates(1, 6, 0, {})->writes[0].slot;
  ASSERT_TRUE(cache.Append(1, 3).ok());
  Result<KVCache::StepStates> states = cache.AppendStates(1, 3, 2, {});
  ASSERT_TRUE(states.ok());
  ASSERT_EQ(states->writes.size(), 1u);
  cache.Publish(1, Ids(9), 7);
  cache.Pop(1, 1);
  EXPECT_EQ(cache.Length(1), 6);
  EXPECT_EQ(cache.StateOf(1), before);
  EXPECT_EQ(static_cast<int>(cache.Pages(1).size()), 2);
}

TEST_F(KVStates, OthersBeginWhereAStateIs) {
  cache_.Add(1);
  Append(1, 11, 0, {4, 8});
  cache_.Publish(1, Ids(11), 11);
  cache_.Retire(1, Ids(11), 11);
  EXPECT_EQ(cache_.states().num_available(), 8);
  struct Case {
    const char* what;
    std::vector<int32_t> tokens;
    int expected;
  };
  std::vector<int32_t> differs = Ids(20);
  differs[6] = 99;
  const Case cases[] = {{"goes on", Ids(20), 11},
                        {"the same", Ids(11), 8},
                        {"differs in the second page", differs, 4},
                        {"differs in the first", Ids(20, 1), 0}};
  for (const Case& c : cases) {
    EXPECT_EQ(cache_.CachedLength(0, c.tokens), c.expected) << c.what;
    EXPECT_EQ(cache_.AddWithPrefix(2, 0, c.tokens), c.expected) << c.what;
    int32_t state = cache_.StateOf(2);
    EXPECT_EQ(state == kNoState, c.expected == 0) << c.what;
    if (c.expected > 0) {
      KVCache::StepStates next = Append(2, 1);
      EXPECT_EQ(next.source, state) << c.what;
      EXPECT_NE(next.writes[0].slot, state) << "others read it: " << c.what;
    }
    (void)cache_.TakePendingCopies();
    cache_.Remove(2);
  }
}

TEST_F(KVStates, AStateGoesWithItsPageAndGivesWayToOthers) {
  cache_.Add(1);
  Append(1, 8, 0, {4, 8});
  cache_.Publish(1, Ids(8), 8);
  cache_.Retire(1, Ids(8), 8);
  EXPECT_EQ(cache_.states().num_free(), 6) << "of both pages";
  // Eight sequences need them all.
  for (SequenceId id = 2; id < 10; ++id) {
    cache_.Add(id);
    Append(id, 1);
  }
  EXPECT_EQ(cache_.CachedLength(0, Ids(20)), 0)
      << "the states were given up, the longest unused first";
  EXPECT_FALSE(cache_.AddFilled(20, 0, 4, {}).ok()) << "no slot is left";
  ASSERT_TRUE(cache_.Append(2, 1).ok());
  EXPECT_TRUE(cache_.AppendStates(2, 1, 0, {}).ok()) << "its own slot";
  for (SequenceId id = 2; id < 10; ++id) cache_.Remove(id);
  cache_.ClearPrefixes();
  EXPECT_EQ(cache_.states().num_free(), 8);
  EXPECT_EQ(cache_.num_free_pages(), 32);
}

// A chat goes on in the page in which it stopped; its earlier end can still be found.
TEST_F(KVStates, ALongerChatLeavesTheStatesOfTheShorter) {
  cache_.Add(1);
  Append(1, 6);
  cache_.Retire(1, Ids(6), 6);
  ASSERT_EQ(cache_.AddWithPrefix(2, 0, Ids(10)), 6);
  (void)cache_.TakePendingCopies();
  Append(2, 4);
  cache_.Retire(2, Ids(10), 10);
  EXPECT_EQ(cache_.FindPages(0, Ids(6)).length, 6);
  EXPECT_EQ(cache_.FindPages(0, Ids(7)).length, 6);
  EXPECT_EQ(cache_.FindPages(0, Ids(10)).length, 10);
  EXPECT_NE(cache_.FindPages(0, Ids(6)).state, cache_.FindPages(0, Ids(10)).state);
}

}  // namespace
}  // namespace mlc
