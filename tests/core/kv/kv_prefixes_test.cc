// The prefix cache and the sliding window of KVCache, against a plain record of what each page
// holds: whatever a row may read must be there, and must be the tokens before it.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "kv/kv_cache.h"

namespace mlc {
namespace {

using Tokens = std::vector<int32_t>;

Tokens Count(int from, int count) {
  Tokens tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(from + i);
  return tokens;
}

class World {
 public:
  World(int num_pages, int page_size, const KVCacheOptions& options)
      : cache_(num_pages, page_size, options),
        options_(options),
        memory_(static_cast<size_t>(num_pages) * page_size, -1) {}

  KVCache& cache() { return cache_; }

  // Starts a sequence that will compute `tokens`; returns what it found.
  int Start(SequenceId id, const Tokens& tokens) {
    int expected = cache_.CachedLength(0, tokens);
    int found = cache_.AddWithPrefix(id, 0, tokens);
    EXPECT_TRUE(found == expected || found == 0);
    EXPECT_LT(found, static_cast<int>(tokens.size()));
    live_[id] = {tokens, found};
    CopyPages();
    return found;
  }
  // Computes up to `count` tokens more of those it was started with.
  bool Compute(SequenceId id, int count) {
    Live& live = live_.at(id);
    count = std::min(count, static_cast<int>(live.tokens.size()) - live.computed);
    int needed = cache_.PagesNeeded(id, count), before = cache_.num_available_pages();
    Status status = cache_.Append(id, count);
    EXPECT_EQ(status.ok(), needed <= before);
    if (!status.ok()) return false;
    EXPECT_EQ(cache_.num_available_pages(), before - needed);
    CopyPages();
    for (int i = 0; i < count; ++i, ++live.computed) {
      int32_t slot = cache_.Slot(id, live.computed);
      memory_[slot] = live.tokens[live.computed];
      CheckReads(id, live.computed, live.computed + 1);
    }
    cache_.Publish(id, live.tokens, live.computed);
    cache_.Slide(id, live.computed);
    CopyPages();
    return true;
  }
  void Pin(SequenceId id, int num_tokens) { cache_.Pin(id, num_tokens); }
  void Say(SequenceId id, int32_t token) { live_.at(id).tokens.push_back(token); }
  void Fork(SequenceId parent, SequenceId child) {
    live_[child] = live_.at(parent);
    cache_.Fork(parent, child, live_[child].computed);
  }
  void Pop(SequenceId id, int count) {
    cache_.Pop(id, count);
    live_.at(id).computed -= count;
    live_.at(id).tokens.resize(live_.at(id).computed);
  }
  void End(SequenceId id, bool keep = true) {
    int freed = cache_.PagesFreedBy(id), before = cache_.num_available_pages();
    if (keep) cache_.Retire(id, live_.at(id).tokens, live_.at(id).computed);
    if (!keep) cache_.Remove(id);
    EXPECT_EQ(cache_.num_available_pages(), before + freed);
    live_.erase(id);
  }
  // Pages are neither lost nor owned twice.
  void Check() {
    std::set<int32_t> held;
    for (const auto& [id, live] : live_) {
      ASSERT_EQ(cache_.Length(id), live.computed);
      for (int32_t page : cache_.Pages(id)) {
        if (page != kNoPage) held.insert(page);
      }
      CheckReads(id, live.computed, live.computed);
    }
    ASSERT_EQ(cache_.num_available_pages(), cache_.num_pages() - static_cast<int>(held.size()));
  }
  const Tokens& TokensOf(SequenceId id) { return live_.at(id).tokens; }
  int Computed(SequenceId id) { return live_.at(id).computed; }

  struct Live {
    Tokens tokens;
    int computed = 0;
  };
  const std::map<SequenceId, Live>& live() const { return live_; }

 private:
  // What a row reads of the first `count` positions.
  void CheckReads(SequenceId id, int row, int count) {
    for (int p = 0; p < count; ++p) {
      bool reads = options_.window == 0 || p < options_.sink || p > row - options_.window;
      if (!reads) continue;
      ASSERT_EQ(memory_[cache_.Slot(id, p)], live_.at(id).tokens[p])
          << "sequence " << id << ", row " << row << " reads position " << p;
    }
  }
  void CopyPages() {
    int size = cache_.page_size();
    for (const auto& [from, to] : cache_.TakePendingCopies()) {
      for (int i = 0; i < size; ++i) memory_[to * size + i] = memory_[from * size + i];
    }
  }

  KVCache cache_;
  KVCacheOptions options_;
  Tokens memory_;
  std::map<SequenceId, Live> live_;
};

KVCacheOptions Keep(int max_cached = -1) { return {true, max_cached, 0, 0}; }
KVCacheOptions Window(int window, int sink) { return {true, -1, window, sink}; }

TEST(KVPrefixes, ARetiredSequenceIsFound) {
  World world(20, 4, Keep());
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
  World world(20, 4, Keep());
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
  World world(20, 4, Keep());
  world.Start(1, Count(0, 8));
  world.Start(2, Count(0, 8));
  ASSERT_TRUE(world.Compute(1, 8));
  ASSERT_TRUE(world.Compute(2, 8));
  EXPECT_EQ(world.cache().Pages(1), world.cache().Pages(2));
  EXPECT_EQ(world.cache().num_free_pages(), 18);
  world.Check();
}

TEST(KVPrefixes, PinnedPagesAreNotEvicted) {
  World world(12, 4, Keep());
  world.Start(1, Count(0, 11));
  ASSERT_TRUE(world.Compute(1, 11));
  world.Pin(1, 11);
  world.Pin(1, 11);                                // once is enough
  EXPECT_EQ(world.cache().num_pinned_pages(), 2);  // full ones
  world.End(1);
  EXPECT_EQ(world.cache().num_available_pages(), 10);
  EXPECT_EQ(world.cache().NumPinned(0, Count(0, 30)), 2);
  EXPECT_EQ(world.cache().NumPinned(0, Count(1, 30)), 0);
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
  World world(12, 4, Keep());
  world.Start(1, Count(0, 40));
  ASSERT_TRUE(world.Compute(1, 40));
  world.Pin(1, 40);
  EXPECT_EQ(world.cache().num_pinned_pages(), 6);
  EXPECT_EQ(world.cache().NumPinned(0, Count(0, 24)), 6);  // those in front
}

TEST(KVPrefixes, OffKeepsNothing) {
  World world(4, 4, KVCacheOptions());
  world.Start(1, Count(0, 16));
  ASSERT_TRUE(world.Compute(1, 16));
  EXPECT_EQ(world.cache().CachedLength(0, Count(0, 16)), 0);
  world.End(1);
  EXPECT_EQ(world.cache().num_free_pages(), 4);
}

TEST(KVPrefixes, AtMostSoManySequencesAreKept) {
  World world(100, 4, Keep(/*max_cached=*/2));
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
  World world(4, 4, Keep());
  world.Start(1, Count(0, 14));
  ASSERT_TRUE(world.Compute(1, 14));
  world.End(1);
  EXPECT_EQ(world.cache().num_free_pages(), 0);
  EXPECT_EQ(world.Start(2, Count(0, 16)), 14);  // the copied page is evicted for its copy
  ASSERT_TRUE(world.Compute(2, 2));
  world.Check();
}

TEST(KVPrefixes, AWindowGivesUpWhatNoRowReads) {
  World world(20, 4, Window(/*window=*/6, /*sink=*/3));
  world.Start(1, Count(0, 100));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(world.Compute(1, 1));
    EXPECT_LE(20 - world.cache().num_available_pages(), world.cache().PagesToHold(100));
  }
  EXPECT_EQ(world.cache().PagesToHold(100), 4);
  const Tokens& pages = world.cache().Pages(1);
  EXPECT_EQ(pages.size(), 25u);
  for (size_t i = 1; i < 23; ++i) EXPECT_EQ(pages[i], kNoPage) << i;
  world.End(1);
  EXPECT_EQ(world.cache().num_available_pages(), 20);
}

TEST(KVPrefixes, ASlidSequenceIsFoundWhereItsWindowIsWhole) {
  World world(8, 4, Window(/*window=*/6, /*sink=*/3));
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

// Sequences of few distinct beginnings start, go on, fork, take back, and end in any order.
void RunRandomly(uint32_t seed, const KVCacheOptions& options) {
  std::mt19937 random(seed);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  int page_size = 1 + below(5), num_pages = 4 + below(30);
  World world(num_pages, page_size, options);
  SequenceId next = 1;
  auto any = [&] {
    auto at = world.live().begin();
    std::advance(at, below(static_cast<int>(world.live().size())));
    return at->first;
  };
  for (int step = 0; step < 400; ++step) {
    int what = world.live().empty() ? 0 : below(10);
    if (what == 0) {
      Tokens tokens = Count(1000 * below(3), 1 + below(20));
      for (int i = below(10); i > 0; --i) tokens.push_back(below(2));
      world.Start(next++, tokens);
    } else if (what == 1) {
      world.End(any(), below(4) > 0);
    } else if (what == 2) {
      world.Fork(any(), next++);
    } else if (what == 3 && options.window == 0) {
      SequenceId id = any();
      world.Pop(id, below(world.Computed(id) + 1));
    } else if (what == 4 && below(10) == 0) {
      world.cache().ClearPrefixes();
    } else {
      SequenceId id = any();
      world.Say(id, below(2));
      if (!world.Compute(id, 1 + below(6))) world.End(any());
    }
    world.Check();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << ", step " << step;
  }
  while (!world.live().empty()) world.End(any());
  world.cache().ClearPrefixes();
  EXPECT_EQ(world.cache().num_free_pages(), num_pages);
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
