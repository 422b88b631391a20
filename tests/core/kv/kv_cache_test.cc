#include "kv/kv_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace mlc {
namespace {

using Copies = std::vector<std::pair<int32_t, int32_t>>;

TEST(KVCache, PagesGrowWithTheSequence) {
  KVCache cache(/*num_pages=*/4, /*page_size=*/3);
  cache.Add(1);
  EXPECT_EQ(cache.num_free_pages(), 4);
  const int lengths[] = {1, 2, 3, 4, 7, 12}, pages[] = {1, 1, 1, 2, 3, 4};
  for (size_t i = 0; i < std::size(lengths); ++i) {
    ASSERT_TRUE(cache.Append(1, lengths[i] - cache.Length(1)).ok());
    EXPECT_EQ(cache.Length(1), lengths[i]);
    EXPECT_EQ(static_cast<int>(cache.Pages(1).size()), pages[i]);
    EXPECT_EQ(cache.num_free_pages(), 4 - pages[i]);
  }
  cache.Remove(1);
  EXPECT_EQ(cache.num_free_pages(), 4);
  EXPECT_FALSE(cache.Has(1));
}

TEST(KVCache, AppendThatFailsChangesNothing) {
  KVCache cache(3, 4);
  cache.Add(1);
  cache.Add(2);
  ASSERT_TRUE(cache.Append(1, 6).ok());
  cache.Fork(1, 2 + 1, 6);
  ASSERT_TRUE(cache.Append(2, 4).ok());  // the last page is gone
  std::vector<int32_t> pages = cache.Pages(1);
  for (int tokens : {1, 2, 3, 100}) {  // 1 needs a copy of the shared page
    EXPECT_EQ(cache.Append(1, tokens).code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(cache.Length(1), 6);
    EXPECT_EQ(cache.Pages(1), pages);
    EXPECT_EQ(cache.num_free_pages(), 0);
    EXPECT_EQ(cache.TakePendingCopies(), Copies());
  }
  EXPECT_TRUE(cache.Append(1, 0).ok());
}

TEST(KVCache, ForkSharesAndTheFirstWriterCopies) {
  KVCache cache(8, 4);
  cache.Add(1);
  ASSERT_TRUE(cache.Append(1, 6).ok());
  cache.Fork(1, 2, 6);
  EXPECT_EQ(cache.Pages(2), cache.Pages(1));
  EXPECT_EQ(cache.num_free_pages(), 6);
  int32_t shared = cache.Pages(1).back();

  EXPECT_EQ(cache.PagesNeeded(2, 1).of[0], 1);  // the copy
  EXPECT_EQ(cache.PagesNeeded(2, 3).of[0], 2);  // the copy and a third page
  ASSERT_TRUE(cache.Append(2, 1).ok());
  EXPECT_EQ(cache.TakePendingCopies(), Copies({{shared, cache.Pages(2).back()}}));
  EXPECT_EQ(cache.Pages(1)[0], cache.Pages(2)[0]);
  EXPECT_NE(cache.Pages(1)[1], cache.Pages(2)[1]);

  // The other one is alone in its page now and writes in place.
  EXPECT_EQ(cache.PagesNeeded(1, 1).of[0], 0);
  ASSERT_TRUE(cache.Append(1, 1).ok());
  EXPECT_EQ(cache.TakePendingCopies(), Copies());
  EXPECT_EQ(cache.Pages(1).back(), shared);
}

TEST(KVCache, AForkAtAPageBoundaryCopiesNothing) {
  KVCache cache(8, 4);
  cache.Add(1);
  ASSERT_TRUE(cache.Append(1, 8).ok());
  cache.Fork(1, 2, 4);
  ASSERT_TRUE(cache.Append(2, 1).ok());
  ASSERT_TRUE(cache.Append(1, 1).ok());
  EXPECT_EQ(cache.TakePendingCopies(), Copies());
  EXPECT_EQ(cache.num_free_pages(), 4);
}

TEST(KVCache, PagesFreedByCountsOnlyUnsharedOnes) {
  KVCache cache(8, 4);
  cache.Add(1);
  ASSERT_TRUE(cache.Append(1, 10).ok());
  EXPECT_EQ(cache.PagesFreedBy(1).of[0], 3);
  cache.Fork(1, 2, 5);
  EXPECT_EQ(cache.PagesFreedBy(1).of[0], 1);
  EXPECT_EQ(cache.PagesFreedBy(2).of[0], 0);
}

TEST(KVCache, PopGivesEmptyPagesBack) {
  KVCache cache(8, 4);
  cache.Add(1);
  ASSERT_TRUE(cache.Append(1, 10).ok());
  const int pop[] = {1, 1, 4, 3, 1, 0}, pages[] = {3, 2, 1, 1, 0, 0};
  for (size_t i = 0; i < std::size(pop); ++i) {
    cache.Pop(1, pop[i]);
    EXPECT_EQ(static_cast<int>(cache.Pages(1).size()), pages[i]) << "step " << i;
    EXPECT_EQ(cache.num_free_pages(), 8 - pages[i]);
  }
}

// A cache and the tokens of every sequence kept plainly. Pages have contents here, and whatever a
// sequence reads through its page table must be what was put into it.
class Checked {
 public:
  Checked(int num_pages, int page_size)
      : cache_(num_pages, page_size), memory_(static_cast<size_t>(num_pages) * page_size, -1) {}

  KVCache& cache() { return cache_; }
  const std::map<SequenceId, std::vector<int>>& sequences() const { return plain_; }

  void Add(SequenceId id) {
    cache_.Add(id);
    plain_[id];
  }
  void Fork(SequenceId parent, SequenceId child, int length) {
    cache_.Fork(parent, child, length);
    plain_[child].assign(plain_[parent].begin(), plain_[parent].begin() + length);
  }
  void Remove(SequenceId id) {
    int freed = cache_.PagesFreedBy(id).of[0], before = cache_.num_free_pages();
    cache_.Remove(id);
    plain_.erase(id);
    EXPECT_EQ(cache_.num_free_pages(), before + freed);
  }
  void Pop(SequenceId id, int count) {
    cache_.Pop(id, count);
    plain_[id].resize(plain_[id].size() - count);
  }
  void Append(SequenceId id, int count) {
    int needed = cache_.PagesNeeded(id, count).of[0], before = cache_.num_free_pages();
    Status status = cache_.Append(id, count);
    ASSERT_EQ(status.ok(), needed <= before) << status.message();
    if (!status.ok()) {
      EXPECT_EQ(cache_.num_free_pages(), before);
      return;
    }
    EXPECT_EQ(cache_.num_free_pages(), before - needed);
    CopyPages();
    for (int i = 0; i < count; ++i) {
      plain_[id].push_back(next_token_);
      int position = static_cast<int>(plain_[id].size()) - 1;
      memory_[cache_.Slot(id, position)] = next_token_++;
    }
  }

  // Every sequence reads its own tokens, and pages are neither lost nor owned twice.
  void Check() {
    std::set<int32_t> held;
    for (const auto& [id, tokens] : plain_) {
      ASSERT_EQ(cache_.Length(id), static_cast<int>(tokens.size()));
      for (size_t i = 0; i < tokens.size(); ++i) {
        ASSERT_EQ(memory_[cache_.Slot(id, static_cast<int>(i))], tokens[i]) << id << " at " << i;
      }
      held.insert(cache_.Pages(id).begin(), cache_.Pages(id).end());
      ASSERT_EQ(cache_.Pages(id).size(),
                (tokens.size() + cache_.page_size() - 1) / cache_.page_size());
    }
    ASSERT_EQ(cache_.num_free_pages(), cache_.num_pages() - static_cast<int>(held.size()));
  }

 private:
  void CopyPages() {
    int size = cache_.page_size();
    for (const auto& [from, to] : cache_.TakePendingCopies()) {
      for (int i = 0; i < size; ++i) memory_[to * size + i] = memory_[from * size + i];
    }
  }

  KVCache cache_;
  std::vector<int> memory_;
  std::map<SequenceId, std::vector<int>> plain_;
  int next_token_ = 0;
};

class RandomOperations {
 public:
  RandomOperations(uint32_t seed, Checked* checked) : random_(seed), checked_(checked) {}

  void One() {
    if (checked_->sequences().empty()) return checked_->Add(next_id_++);
    switch (Below(8)) {
      case 0:
        return checked_->Add(next_id_++);
      case 1: {
        SequenceId parent = Any();
        return checked_->Fork(parent, next_id_++, Below(LengthOf(parent) + 1));
      }
      case 2:
        return checked_->Remove(Any());
      case 3: {
        SequenceId id = Any();
        return checked_->Pop(id, Below(LengthOf(id) + 1));
      }
      default:
        return checked_->Append(Any(), Below(12));
    }
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  SequenceId Any() {
    auto at = checked_->sequences().begin();
    std::advance(at, Below(static_cast<int>(checked_->sequences().size())));
    return at->first;
  }
  int LengthOf(SequenceId id) { return checked_->cache().Length(id); }

  std::mt19937 random_;
  Checked* checked_;
  SequenceId next_id_ = 1;
};

TEST(KVCache, RandomOperationsKeepEverySequencesTokens) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    int num_pages = 1 + static_cast<int>(seed % 20), page_size = 1 + static_cast<int>(seed % 5);
    Checked checked(num_pages, page_size);
    RandomOperations operations(seed, &checked);
    for (int i = 0; i < 250; ++i) {
      operations.One();
      checked.Check();
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << ", operation " << i;
    }
    while (!checked.sequences().empty()) checked.Remove(checked.sequences().begin()->first);
    EXPECT_EQ(checked.cache().num_free_pages(), num_pages);
  }
}

TEST(KVCacheDeathTest, WrongUseIsABrokenInvariant) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  KVCache cache(2, 4);
  cache.Add(1);
  EXPECT_DEATH(cache.Add(1), "broken invariant");
  EXPECT_DEATH(cache.Remove(2), "broken invariant");
  EXPECT_DEATH(cache.Slot(1, 0), "broken invariant");
  EXPECT_DEATH(cache.Pop(1, 1), "broken invariant");
  EXPECT_DEATH(cache.Fork(1, 2, 1), "broken invariant");
}

}  // namespace
}  // namespace mlc
