#include "engine/step.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/fake_model.h"
#include "support/byte_tokenizer.h"
#include "support/request_state.h"

namespace mlc {
namespace {

std::shared_ptr<Sequence> MakeSequence(SequenceId id, const std::string& prompt, int num_computed,
                                       KVCache* cache) {
  Request request;
  request.prompt = testing::Bytes(prompt);
  auto sequence = std::make_shared<Sequence>(id, 0, testing::StateOf(std::move(request)),
                                             testing::ByteTokenizer().get());
  sequence->num_computed = num_computed;
  cache->Add(id);
  EXPECT_TRUE(cache->Append(id, num_computed).ok());
  return sequence;
}

TEST(BuildBatch, LaysOutRowsPagesAndLogitRows) {
  KVCache cache(/*num_pages=*/8, /*page_size=*/4);
  auto decode = MakeSequence(1, "abcde", 4, &cache);  // page 0
  auto prompt = MakeSequence(2, "vwxyz!", 0, &cache);
  Result<Batch> batch = BuildBatch({{decode, 1, true}, {prompt, 5, false}}, &cache);
  ASSERT_TRUE(batch.ok()) << batch.status().message();
  using Ints = std::vector<int32_t>;
  EXPECT_EQ(batch->tokens, (Ints{'e', 'v', 'w', 'x', 'y', 'z'}));
  EXPECT_EQ(batch->positions, (Ints{4, 0, 1, 2, 3, 4}));
  EXPECT_EQ(batch->row_sequence, (Ints{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(batch->logit_rows, (Ints{0}));
  EXPECT_EQ(batch->page_indptr, (Ints{0, 2, 4}));
  const Ints &first = cache.Pages(1), &second = cache.Pages(2);
  EXPECT_EQ(batch->page_indices, (Ints{first[0], first[1], second[0], second[1]}));
  EXPECT_EQ(batch->slots, (Ints{first[1] * 4, second[0] * 4, second[0] * 4 + 1, second[0] * 4 + 2,
                                second[0] * 4 + 3, second[1] * 4}));
  EXPECT_EQ(decode->num_computed, 4) << "the commit counts them";
}

TEST(BuildBatch, LayersWithAWindowHaveTheirOwnSlotsAndPages) {
  KVCacheOptions options;
  options.num_windowed_pages = 6;
  options.layer_window = 4;
  KVCache cache(/*num_pages=*/8, /*page_size=*/4, options);
  auto first = MakeSequence(1, "abcdefghijklm", 12, &cache);
  auto second = MakeSequence(2, "vwxyz!", 4, &cache);
  cache.Slide(1, 12);
  Result<Batch> batch = BuildBatch({{first, 1, true}, {second, 2, true}}, &cache);
  ASSERT_TRUE(batch.ok()) << batch.status().message();
  EXPECT_EQ(batch->page_indptr, (std::vector<int32_t>{0, 4, 6}));
  EXPECT_EQ(batch->page_indices.size(), 6u);
  ASSERT_EQ(batch->windowed_indices.size(), 6u);
  EXPECT_EQ(std::count(batch->page_indices.begin(), batch->page_indices.end(), -1), 0);
  EXPECT_EQ(batch->windowed_indices[0], -1);
  EXPECT_EQ(batch->windowed_indices[1], -1);
  for (size_t i = 2; i < 6; ++i) {
    EXPECT_GE(batch->windowed_indices[i], 0);
    EXPECT_LT(batch->windowed_indices[i], 6) << "numbered in their group";
  }
  EXPECT_EQ(batch->windowed_slots,
            (std::vector<int32_t>{batch->windowed_indices[3] * 4, batch->windowed_indices[5] * 4,
                                  batch->windowed_indices[5] * 4 + 1}));
}

TEST(BuildBatch, DraftsFollowWhatIsKnown) {
  KVCache cache(8, 4);
  auto decode = MakeSequence(1, "abcde", 4, &cache);
  auto resumed = MakeSequence(2, "vwxyz", 0, &cache);
  auto prompt = MakeSequence(3, "uvw", 0, &cache);
  Result<Batch> batch = BuildBatch(
      {{decode, 1, true, {'f', 'g'}}, {resumed, 5, true, {'!'}}, {prompt, 2, false}}, &cache);
  ASSERT_TRUE(batch.ok()) << batch.status().message();
  EXPECT_EQ(batch->tokens, testing::Bytes("efgvwxyz!uv"));
  EXPECT_EQ(batch->positions, (std::vector<int32_t>{4, 5, 6, 0, 1, 2, 3, 4, 5, 0, 1}));
  EXPECT_EQ(batch->logit_rows, (std::vector<int32_t>{0, 1, 2, 7, 8}));
  EXPECT_EQ(cache.Length(1), 7);
  EXPECT_EQ(cache.Length(2), 6);
  EXPECT_EQ(batch->slots[2], cache.Slot(1, 6));
}

TEST(BuildBatch, APlanThatDoesNotFitIsAnError) {
  KVCache cache(1, 4);
  auto sequence = MakeSequence(1, "abcdefgh", 0, &cache);
  EXPECT_EQ(BuildBatch({{sequence, 5, false}}, &cache).status().code(),
            StatusCode::kResourceExhausted);
}

// The ids of decodes, in the order in which a step has them.
std::vector<SequenceId> Gathered(const std::vector<SequenceId>& ids, KVCache* cache,
                                 std::vector<StepItem> more = {}) {
  std::vector<StepItem> items;
  for (SequenceId id : ids) {
    Request request;
    request.prompt = testing::Bytes("a");
    items.push_back({std::make_shared<Sequence>(id, 0, testing::StateOf(std::move(request)),
                                                testing::ByteTokenizer().get()),
                     1, true});
  }
  items.insert(items.end(), more.begin(), more.end());
  GatherSharers(*cache, &items);
  std::vector<SequenceId> order;
  for (const StepItem& item : items) order.push_back(item.sequence->id);
  return order;
}

TEST(GatherSharers, SequencesThatBeginWithTheSamePagesAreNeighbours) {
  KVCache cache(/*num_pages=*/64, /*page_size=*/4);
  auto grow = [&](SequenceId id, int rows) { EXPECT_TRUE(cache.Append(id, rows).ok()); };
  for (SequenceId id : {1, 2, 3}) {
    cache.Add(id);
    grow(id, 12);
  }
  cache.Fork(2, 4, 12);  // three pages of 2
  cache.Fork(1, 5, 4);   // one page of 1
  cache.Fork(2, 6, 4);
  cache.Fork(1, 7, 8);  // two pages of 1
  for (SequenceId id : {4, 5, 6, 7}) grow(id, 1);
  cache.Fork(2, 8, 12);  // all pages of 2, and no more
  using Ids = std::vector<SequenceId>;
  EXPECT_EQ(Gathered({1, 2, 3, 4, 5, 6, 7, 8}, &cache), (Ids{1, 7, 5, 2, 4, 8, 6, 3}));
  EXPECT_EQ(Gathered({5, 8, 1, 6, 7, 3, 2}, &cache), (Ids{5, 1, 7, 8, 2, 6, 3}));
  EXPECT_EQ(Gathered({3, 2, 1}, &cache), (Ids{3, 2, 1})) << "nothing is shared";
  EXPECT_EQ(Gathered({4, 3}, &cache), (Ids{4, 3}));
  EXPECT_EQ(Gathered({}, &cache), Ids());
}

TEST(GatherSharers, ChunksOfPromptsStayBehindDecodes) {
  KVCache cache(64, 4);
  auto prompt = MakeSequence(9, "abcdefghij", 8, &cache);
  for (SequenceId id : {1, 2, 3}) cache.Fork(9, id, id == 2 ? 0 : 8);
  std::vector<SequenceId> order = Gathered({1, 2, 3}, &cache, {{prompt, 2, true}});
  EXPECT_EQ(order, (std::vector<SequenceId>{1, 3, 2, 9}));
}

// Notes which pages are copied in one call.
class CopyingModel : public FakeModel {
 public:
  CopyingModel() : FakeModel(SmallInfo(), HashOfHistory(256)) {}
  Status CopyPages(const std::vector<int32_t>& source,
                   const std::vector<int32_t>& destination) override {
    calls.push_back(source);
    return FakeModel::CopyPages(source, destination);
  }
  std::vector<std::vector<int32_t>> calls;
};

TEST(RunBatch, CopiesThatDependOnOneAnotherComeInTurn) {
  KVCache cache(8, 4);
  CopyingModel model;
  ASSERT_TRUE(model.AllocatePages({8}).ok());
  auto sequence = MakeSequence(1, "abcdef", 2, &cache);
  cache.Fork(1, 2, 2);
  ASSERT_TRUE(cache.Append(2, 1).ok());  // a copy,
  cache.Fork(2, 3, 2);
  cache.Fork(1, 4, 2);
  ASSERT_TRUE(cache.Append(3, 1).ok());  // and a copy of it
  ASSERT_TRUE(cache.Append(4, 1).ok());
  for (SequenceId id : {2, 3, 4}) cache.Remove(id);
  Result<Batch> batch = BuildBatch({{sequence, 4, true}}, &cache);
  ASSERT_TRUE(batch.ok());
  EXPECT_FALSE(RunBatch(*batch, &cache, &model).ok()) << "a token that was never computed";
  ASSERT_EQ(model.calls.size(), 2u);
  EXPECT_EQ(model.calls[0].size(), 1u);
  EXPECT_EQ(model.calls[1].size(), 2u);
}

}  // namespace
}  // namespace mlc
