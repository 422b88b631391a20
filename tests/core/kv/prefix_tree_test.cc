#include "kv/prefix_tree.h"

#include <gtest/gtest.h>

#include <string>

namespace mlc {
namespace {

constexpr int kPageSize = 4;

using Pages = std::vector<int32_t>;

std::vector<int32_t> Tokens(const std::string& text) { return {text.begin(), text.end()}; }

// A tree of letters whose pages are idle as soon as they are put.
class Letters {
 public:
  // Puts a text page by page, with pages `page`, `page + 1`, ...; returns what the tree gave back.
  std::vector<int32_t> Put(const std::string& text, int32_t page, uint64_t key = 0) {
    std::vector<int32_t> released;
    std::vector<int32_t> tokens = Tokens(text);
    PrefixTree::NodeId node = tree_.Root(key);
    for (size_t i = 0; i < tokens.size(); i += kPageSize, ++page) {
      int count = std::min<int>(kPageSize, static_cast<int>(tokens.size() - i));
      PrefixTree::Placed placed = tree_.Put(node, tokens.data() + i, count, PageSet(page));
      released.insert(released.end(), placed.released.begin(), placed.released.end());
      node = placed.node;
      if (tree_.page(node) == page) tree_.SetIdle(page);
    }
    return released;
  }
  // "0 1 2+3": pages 0 and 1 whole, and three tokens of page 2.
  std::string Find(const std::string& text, uint64_t key = 0) {
    std::vector<int32_t> tokens = Tokens(text);
    PrefixTree::Match match = tree_.Find(key, tokens.data(), static_cast<int>(tokens.size()));
    std::string out;
    for (PrefixTree::NodeId node : match.nodes) out += std::to_string(tree_.page(node)) + " ";
    if (match.partial != PrefixTree::kNone) {
      out += std::to_string(tree_.page(match.partial)) + "+" +
             std::to_string(match.num_partial_tokens) + " ";
    }
    if (!out.empty()) out.pop_back();
    return out;
  }
  PrefixTree& tree() { return tree_; }

 private:
  PrefixTree tree_{{40}, kPageSize};
};

TEST(PrefixTree, FindsTheLongestBeginning) {
  Letters letters;
  letters.Put("aaaabbbbcc", 0);
  letters.Put("aaaabbxx", 10);
  letters.Put("zzz", 20);
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"q", ""},
      {"a", "0+1"},
      {"aaaa", "0"},
      {"aaaab", "0 1+1"},
      {"aaaabbbbcc", "0 1 2+2"},
      {"zzzz", "20+3"},
      {"aaaabbbbcccc", "0 1 2+2"},
      {"zz", "20+2"},
      {"aaaabbxxyy", "0 11"},
      {"aaaabbxq", "0 11+3"},
      {"aaaabbbz", "0 1+3"},
      {"aaaabbz", "0 11+2"},
      {"baaa", ""},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(letters.Find(text), expected) << text;
}

TEST(PrefixTree, KeysKeepTheirTokensApart) {
  Letters letters;
  letters.Put("aaaa", 0, /*key=*/1);
  letters.Put("aaaabbbb", 10, /*key=*/2);
  EXPECT_EQ(letters.Find("aaaabbbb", 1), "0");
  EXPECT_EQ(letters.Find("aaaabbbb", 2), "10 11");
  EXPECT_EQ(letters.Find("aaaabbbb", 3), "");
}

TEST(PrefixTree, WhatIsThereKeepsItsPages) {
  Letters letters;
  letters.Put("aaaabbbb", 0);
  EXPECT_EQ(letters.Put("aaaabbbbcccc", 10), std::vector<int32_t>());
  EXPECT_EQ(letters.Find("aaaabbbbcccc"), "0 1 12");
  EXPECT_FALSE(letters.tree().Holds(10));
  letters.Put("aaaabb", 20);  // only begins what is there
  EXPECT_FALSE(letters.tree().Holds(21));
  EXPECT_EQ(letters.tree().num_nodes(), 3);
}

TEST(PrefixTree, AFullerPageReplacesALeaf) {
  Letters letters;
  letters.Put("aaaabb", 0);
  EXPECT_EQ(letters.Put("aaaabbbc", 10), std::vector<int32_t>({1}));
  EXPECT_EQ(letters.Find("aaaabbbb"), "0 11+3");
  EXPECT_EQ(letters.Put("aaaabx", 20), std::vector<int32_t>());  // another branch
  EXPECT_EQ(letters.tree().num_nodes(), 3);
  EXPECT_EQ(letters.tree().num_idle_pages(), 3);
}

TEST(PrefixTree, EvictsWhatHasBeenIdleLongest) {
  Letters letters;
  letters.Put("aaaa", 0);
  letters.Put("bbbb", 1);
  letters.Put("cccc", 2);
  letters.tree().SetBusy(0);
  EXPECT_EQ(letters.tree().Evict(0), Pages{1});
  letters.tree().SetIdle(0);
  EXPECT_EQ(letters.tree().Evict(0), Pages{2});
  EXPECT_EQ(letters.tree().Evict(0), Pages{0});
  EXPECT_EQ(letters.tree().num_nodes(), 0);
}

TEST(PrefixTree, AHoleGoesWithTheLastThatHangsOnIt) {
  Letters letters;
  letters.Put("aaaabbbbcccc", 0);  // the first page fell idle first
  EXPECT_EQ(letters.tree().Evict(0), Pages{0});
  EXPECT_EQ(letters.tree().num_nodes(), 3);
  EXPECT_EQ(letters.Find("aaaabbbb"), "-1 1");
  EXPECT_EQ(letters.Find("aaa"), "");
  letters.Put("aaaa", 7);  // a hole is filled
  EXPECT_EQ(letters.Find("aaaabbbb"), "7 1");
  for (int32_t page : {1, 2, 7}) EXPECT_EQ(letters.tree().Evict(0), Pages{page});
  EXPECT_EQ(letters.tree().num_nodes(), 0);
}

TEST(PrefixTree, CountsTheEndsOfIdleSequences) {
  Letters letters;
  letters.Put("aaaabbbb", 0);
  EXPECT_EQ(letters.tree().num_idle_leaves(), 1);
  letters.Put("aaaacccc", 10);
  EXPECT_EQ(letters.tree().num_idle_leaves(), 2);
  letters.tree().SetBusy(11);
  EXPECT_EQ(letters.tree().num_idle_leaves(), 1);
  letters.tree().SetIdle(11);
  letters.tree().SetBusy(0);  // as a sequence would that holds the common page
  EXPECT_EQ(letters.tree().Evict(0), Pages{1});
  EXPECT_EQ(letters.tree().num_idle_leaves(), 1);
  EXPECT_EQ(letters.tree().Evict(0), Pages{11});
  EXPECT_EQ(letters.tree().num_idle_leaves(), 0);
  letters.tree().SetIdle(0);
  EXPECT_EQ(letters.tree().num_idle_leaves(), 1);
}

TEST(PrefixTree, KeysThatHaveNothingAreForgotten) {
  Letters letters;
  letters.Put("aaaabbbb", 0, /*key=*/1);
  for (uint64_t key = 2; key < 1000; ++key) {
    letters.Put("cccc", 10, key);
    EXPECT_EQ(letters.tree().Drop(10), Pages{10});
  }
  EXPECT_LT(letters.tree().num_roots(), 50);
  EXPECT_EQ(letters.Find("aaaabbbb", 1), "0 1");
  EXPECT_EQ(letters.Find("cccc", 2), "");
  letters.Put("cccc", 10, 2);
  EXPECT_EQ(letters.Find("cccc", 2), "10");
}

}  // namespace
}  // namespace mlc
