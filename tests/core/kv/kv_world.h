// The prefix cache and the windows of KVCache, against a plain record of what each page holds:
// whatever a row may read must be there, and must be the tokens before it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <set>

#include "kv/kv_cache.h"

namespace mlc::testing {

using Tokens = std::vector<int32_t>;

inline Tokens Count(int from, int count) {
  Tokens tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(from + i);
  return tokens;
}

class KVWorld {
 public:
  KVWorld(int num_pages, int page_size, const KVCacheOptions& options)
      : cache_(num_pages, page_size, options),
        windows_{options.window, options.layer_window},
        sink_(options.sink),
        memory_(static_cast<size_t>(cache_.num_pages()) * page_size, -1) {}

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
    PageCounts needed = cache_.PagesNeeded(id, count), before = cache_.available_pages();
    Status status = cache_.Append(id, count);
    EXPECT_EQ(status.ok(), needed.FitIn(before));
    if (!status.ok()) return false;
    EXPECT_EQ(cache_.available_pages().of, (before - needed).of);
    CopyPages();
    for (int i = 0; i < count; ++i, ++live.computed) {
      for (size_t g = 0; g < cache_.num_groups(); ++g) {
        memory_[Place(id, live.computed, g)] = live.tokens[live.computed];
      }
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
    PageCounts freed = cache_.PagesFreedBy(id), before = cache_.available_pages();
    if (keep) cache_.Retire(id, live_.at(id).tokens, live_.at(id).computed);
    if (!keep) cache_.Remove(id);
    EXPECT_EQ(cache_.available_pages().of, (before + freed).of);
    live_.erase(id);
  }
  // Pages are neither lost nor owned twice.
  void Check() {
    std::set<int32_t> held;
    for (const auto& [id, live] : live_) {
      ASSERT_EQ(cache_.Length(id), live.computed);
      for (size_t g = 0; g < cache_.num_groups(); ++g) {
        for (int32_t page : cache_.Pages(id, g)) {
          if (page != kNoPage) held.insert(page);
        }
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
  // A slot of the group in `memory_`, where the pages of all groups follow each other.
  size_t Place(SequenceId id, int position, size_t group) const {
    int first = group == 0 ? 0 : cache_.num_pages(0) * cache_.page_size();
    return static_cast<size_t>(first + cache_.Slot(id, position, group));
  }
  // What a row reads of the first `count` positions.
  void CheckReads(SequenceId id, int row, int count) {
    for (size_t g = 0; g < cache_.num_groups(); ++g) {
      for (int p = 0; p < count; ++p) {
        bool reads = windows_[g] == 0 || p < sink_ || p > row - windows_[g];
        if (!reads) continue;
        ASSERT_EQ(memory_[Place(id, p, g)], live_.at(id).tokens[p])
            << "sequence " << id << ", row " << row << " reads position " << p << " of group " << g;
      }
    }
  }
  void CopyPages() {
    int size = cache_.page_size();
    for (const auto& [from, to] : cache_.TakePendingCopies()) {
      for (int i = 0; i < size; ++i) memory_[to * size + i] = memory_[from * size + i];
    }
  }

  KVCache cache_;
  std::array<int, kMaxPageGroups> windows_;
  int sink_;
  Tokens memory_;
  std::map<SequenceId, Live> live_;
};

inline KVCacheOptions Keep(int max_cached = -1) { return {true, max_cached, 0, 0}; }
inline KVCacheOptions Window(int window, int sink) { return {true, -1, window, sink}; }
inline KVCacheOptions TwoGroups(int num_windowed_pages, int layer_window, int sink = 0) {
  return {true, -1, 0, sink, 0, num_windowed_pages, layer_window};
}

// Sequences of few distinct beginnings start, go on, fork, take back, and end in any order.
inline void RunRandomly(uint32_t seed, const KVCacheOptions& options) {
  std::mt19937 random(seed);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  int page_size = 1 + below(5), num_pages = 4 + below(30);
  KVWorld world(num_pages, page_size, options);
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
    } else if (what == 3 && options.window == 0 && options.layer_window == 0) {
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
  EXPECT_EQ(world.cache().num_free_pages(), world.cache().num_pages());
}

}  // namespace mlc::testing
