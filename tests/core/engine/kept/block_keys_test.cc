// The names of blocks: alike for the same tokens of the same model, and for nothing else.
#include "engine/kept/block_keys.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/engine_driver.h"
#include "support/embedding_rows.h"

namespace mlc {
namespace {

using testing::TestInfo;

PrefixIds Numbers(int count) {
  PrefixIds prefix;
  for (int i = 0; i < count; ++i) prefix.ids.push_back(i * 7 % 200);
  return prefix;
}

ContentHash Key() { return HashContent("a key"); }

ContentHash LastKey(const ModelInfo& model, const PrefixIds& prefix, int block_tokens = 8) {
  auto end = static_cast<int>(prefix.ids.size());
  return BlockKeys(model, block_tokens).FullBlocks(prefix, end).back().key;
}

TEST(BlockKeys, ABlockIsAMultipleOfAPage) {
  EXPECT_EQ(BlockKeys(TestInfo(), 8).block_tokens(), 8);
  EXPECT_EQ(BlockKeys(TestInfo(), 11).block_tokens(), 8);
  EXPECT_EQ(BlockKeys(TestInfo(), 1).block_tokens(), 4);
  EXPECT_EQ(BlockKeys(TestInfo(), 8).BodyBytes({8, 16}), 32);
  EXPECT_EQ(BlockKeys(TestInfo(), 8).BodyBytes({8, 13}), 32) << "a part of a page is a page";
  EXPECT_EQ(BlockKeys(TestInfo(), 8).BodyBytes({8, 12}), 16);
}

TEST(BlockKeys, AKeyStandsForAllTokensBefore) {
  BlockKeys keys(TestInfo(), 8);
  PrefixIds prefix = Numbers(29);
  std::vector<PrefixBlock> blocks = keys.FullBlocks(prefix, 29);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[2].begin, 16);
  EXPECT_EQ(blocks[2].end, 24);
  for (size_t changed = 0; changed < 24; ++changed) {
    PrefixIds other = prefix;
    ++other.ids[changed];
    std::vector<PrefixBlock> others = keys.FullBlocks(other, 29);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(others[i].key == blocks[i].key, i < changed / 8) << changed << " " << i;
    }
  }
}

TEST(BlockKeys, TailsEndAnywhereBehindTheFullBlocks) {
  BlockKeys keys(TestInfo(), 8);
  PrefixIds prefix = Numbers(29);
  std::vector<PrefixBlock> full = keys.FullBlocks(prefix, 29);
  std::vector<PrefixBlock> tails = keys.Tails(prefix, full, 26, 40);
  ASSERT_EQ(tails.size(), 4u) << "26 .. 29, up to the last token";
  std::set<ContentHash> distinct;
  for (const PrefixBlock& tail : tails) {
    EXPECT_EQ(tail.begin, 24);
    distinct.insert(tail.key);
  }
  EXPECT_EQ(tails.back().end, 29);
  EXPECT_EQ(distinct.size(), 4u);
  EXPECT_EQ(keys.Tails(prefix, full, 28, 28).front().key, tails[2].key);
  full.pop_back();
  EXPECT_EQ(keys.Tails(prefix, full, 17, 29).back().end, 23) << "shorter than a full block";
  EXPECT_EQ(keys.Tails(prefix, {}, 1, 29).front().begin, 0);
}

TEST(BlockKeys, ModelsAndAdaptersHaveTheirOwn) {
  PrefixIds prefix = Numbers(16), adapter = prefix;
  adapter.adapter = uint64_t{1} << 40;
  ModelInfo weights = TestInfo(), library = TestInfo(), page = TestInfo(), window = TestInfo();
  weights.weights_id = "other";
  library.library_id = "other";
  page.page_bytes = 32;
  window.sliding_window_size = 64;
  std::set<ContentHash> distinct = {LastKey(TestInfo(), prefix),   LastKey(TestInfo(), adapter),
                                    LastKey(weights, prefix),      LastKey(library, prefix),
                                    LastKey(page, prefix),         LastKey(window, prefix),
                                    LastKey(TestInfo(), prefix, 4)};
  EXPECT_EQ(distinct.size(), 7u);
}

// The name of a content differs between engines.
TEST(BlockKeys, PicturesCountByTheirContent) {
  BlockKeys keys(TestInfo(), 8);
  auto see = [](int picture, int32_t name) {
    Prompt prompt({1, 2});
    prompt.Append(testing::Rows(picture, 6));
    return MakePrefixIds(0, prompt, {1, 2, name, name, name, name, name, name});
  };
  EXPECT_EQ(LastKey(TestInfo(), see(1, -1)), LastKey(TestInfo(), see(1, -5)));
  EXPECT_NE(LastKey(TestInfo(), see(1, -1)), LastKey(TestInfo(), see(2, -1)));
  PrefixBlock block = keys.FullBlocks(see(1, -5), 8).front();
  EXPECT_EQ(keys.FileHead(see(1, -5), block), keys.FileHead(see(1, -1), block));
  EXPECT_NE(keys.FileHead(see(1, -5), block), keys.FileHead(see(2, -5), block));
}

TEST(BlockKeys, AFileNamesItsBlock) {
  BlockKeys keys(TestInfo(), 8);
  PrefixIds prefix = Numbers(16);
  PrefixBlock block = keys.FullBlocks(prefix, 16).back();
  std::string pages(32, 'p');
  std::string bytes = keys.FileHead(prefix, block) + pages + EncodeKVTail(pages);
  Result<KVFile> file = DecodeKVFile(bytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->head.block, ContentHashText(block.key));
  EXPECT_EQ(file->head.tokens,
            std::vector<int32_t>(prefix.ids.begin() + 8, prefix.ids.begin() + 16));
  EXPECT_EQ(file->pages, pages);
}

// What a file's head says is enough to find the block that it is of, and no other one.
TEST(BlockKeys, AHeadNamesItsBlock) {
  BlockKeys keys(TestInfo(), 8);
  PrefixIds prefix = Numbers(29);
  std::vector<PrefixBlock> blocks = keys.FullBlocks(prefix, 29);
  blocks.push_back(keys.Tails(prefix, blocks, 27, 27).front());
  std::optional<PrefixBlock> before;
  for (const PrefixBlock& block : blocks) {
    Result<KVFileHead> head = DecodeKVHead(keys.FileHead(prefix, block) + "pages");
    ASSERT_TRUE(head.ok()) << head.status().message();
    EXPECT_EQ(head->before, ContentHashText(block.before));
    std::optional<PrefixBlock> found = keys.BlockOf(block.key, *head, before);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->begin, block.begin);
    EXPECT_EQ(found->end, block.end);
    EXPECT_FALSE(keys.BlockOf(Key(), *head, before)) << "another name";
    EXPECT_FALSE(keys.BlockOf(block.key, *head, block)) << "another place";
    ModelInfo other = TestInfo();
    other.weights_id = "other";
    EXPECT_FALSE(BlockKeys(other, 8).BlockOf(block.key, *head, std::nullopt));
    before = block;
  }
}

TEST(BlockKeys, EndsAreWindowsAndStates) {
  ModelInfo info = TestInfo();
  EXPECT_TRUE(BlockKeys(info, 8).EndsOf({8, 13}).empty());
  info.windowed_page_bytes = 32;
  info.layer_window = 5;
  info.state_bytes = 100;
  BlockKeys keys(info, 8);
  std::vector<PrefixBlock> ends = keys.EndsOf({8, 13, Key()});
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].part, KeptPart::kWindow);
  EXPECT_EQ(ends[0].begin, 8);
  EXPECT_EQ(keys.BodyBytes(ends[0]), 64) << "two pages";
  EXPECT_EQ(ends[1].part, KeptPart::kState);
  EXPECT_EQ(keys.BodyBytes(ends[1]), 100);
  EXPECT_NE(ends[0].key, ends[1].key);
  for (const PrefixBlock& end : ends) EXPECT_EQ(end.before, Key());
}

}  // namespace
}  // namespace mlc
