#include "engine/adapters.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

using Ints = std::vector<int32_t>;

AdapterWeights SomeWeights(int num_groups, uint64_t hash) { return {8, num_groups, hash, {}}; }

AdapterHandle Loaded(AdapterTable* table, const std::string& name, int groups, uint64_t hash) {
  AdapterHandle adapter = *table->Take(name, SomeWeights(groups, hash));
  EXPECT_TRUE(table->Put(adapter).ok());
  return adapter;
}

TEST(AdapterTable, AnAdapterKeepsItsGroupsUntilItsLastRequestEnds) {
  AdapterTable table(4);
  Ints groups = Loaded(&table, "a", 3, 1)->groups;
  AdapterUses uses = *table.Find({{"a", 1.0f}});
  EXPECT_TRUE(table.Remove("a").ok());
  EXPECT_EQ(table.Find({{"a", 1.0f}}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(table.num_free_ranks(), 8);
  Status full = table.Take("b", SomeWeights(2, 2)).status();
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(full.Is(Reason::kAdaptersFull));
  EXPECT_EQ(uses[0].adapter->groups, groups);
  uses.clear();
  EXPECT_EQ(table.num_free_ranks(), 32);
}

TEST(AdapterTable, ANewAdapterReplacesOneOfTheSameNameForNewRequests) {
  AdapterTable table(4);
  Loaded(&table, "a", 1, 1);
  AdapterUses old = *table.Find({{"a", 1.0f}});
  Loaded(&table, "a", 1, 2);
  AdapterUses now = *table.Find({{"a", 1.0f}});
  EXPECT_NE(old[0].adapter->groups, now[0].adapter->groups);
  EXPECT_NE(KeyOf(old), KeyOf(now));
  EXPECT_EQ(table.List().size(), 1u);
  old.clear();
  EXPECT_EQ(table.num_free_ranks(), 24);
}

TEST(AdapterTable, HoldsNoMoreAdaptersThanItsLimit) {
  AdapterTable table(4, /*max_adapters=*/1);
  Loaded(&table, "a", 1, 1);
  Loaded(&table, "a", 1, 2);  // replaced
  Status full = table.Put(*table.Take("b", SomeWeights(1, 3)));
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(full.Is(Reason::kAdaptersFull));
  EXPECT_EQ(table.num_free_ranks(), 24);
  EXPECT_TRUE(table.Remove("a").ok());
  Loaded(&table, "b", 1, 3);
}

TEST(AdapterTable, HandlesMayLiveLongerThanTheTable) {
  auto table = std::make_unique<AdapterTable>(2);
  AdapterHandle adapter = Loaded(table.get(), "a", 1, 1);
  table.reset();
  EXPECT_EQ(adapter->name, "a");
}

TEST(AdapterTable, NamesAreChecked) {
  AdapterTable table(2);
  Loaded(&table, "a", 1, 1);
  Status unknown = table.Find({{"a", 1.0f}, {"b", 1.0f}}).status();
  EXPECT_TRUE(unknown.Is(Reason::kAdapterNotFound));
  EXPECT_EQ(unknown.param(), "lora");
  EXPECT_EQ(table.Find({{"a", 1.0f}, {"a", 2.0f}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(table.Remove("b").Is(Reason::kAdapterNotFound));
}

TEST(AdapterKeys, DependOnContentScaleAndOrder) {
  AdapterTable table(4);
  Loaded(&table, "a", 1, 1), Loaded(&table, "b", 1, 2), Loaded(&table, "same", 1, 1);
  auto key = [&](const std::vector<std::pair<std::string, float>>& names) {
    return KeyOf(*table.Find(names));
  };
  EXPECT_EQ(KeyOf({}), 0u);
  EXPECT_EQ(key({{"a", 1.0f}}), key({{"same", 1.0f}}));
  EXPECT_NE(key({{"a", 1.0f}}), key({{"b", 1.0f}}));
  EXPECT_NE(key({{"a", 1.0f}}), key({{"a", 0.5f}}));
  EXPECT_NE(key({{"a", 1.0f}, {"b", 1.0f}}), key({{"b", 1.0f}, {"a", 1.0f}}));
}

// Rows 0 to 1 and 3 have adapter x, row 4 has x and y, the others none.
TEST(AddAdapters, NeighboursWithOneKeyStandTogetherForEachGroup) {
  auto x = std::make_shared<LoadedAdapter>(), y = std::make_shared<LoadedAdapter>();
  x->groups = {5, 2};
  y->groups = {7};
  AdapterUses one = {{x, 1.0f}}, both = {{x, 1.0f}, {y, 0.5f}}, none;
  Batch batch;
  AddAdapters({{0, 1, 1, &one},
               {1, 2, 1, &one},
               {2, 3, 0, &none},
               {3, 4, 1, &one},
               {4, 5, 2, &both},
               {5, 6, 0, &none}},
              &batch);
  EXPECT_EQ(batch.adapter_rows, (Ints{0, 1, 0, 1, 3, 3, 4, 4, 4}));
  EXPECT_EQ(batch.adapter_groups, (Ints{5, 5, 2, 2, 5, 2, 5, 2, 7}));
  constexpr int32_t kOne = 0x3F800000, kHalf = 0x3F000000;
  EXPECT_EQ(batch.adapter_scales, (Ints{kOne, kOne, kOne, kOne, kOne, kOne, kOne, kOne, kHalf}));
}

}  // namespace
}  // namespace mlc
