#include "engine/drafts.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

using Ints = std::vector<int>;

// 7 (8 (9, 10), 11), 12 (13)
Drafts Tree() {
  Drafts drafts = {7, 8, 9};
  drafts.Add(10, 1);
  drafts.Add(11, 0);
  drafts.Add(12, Drafts::kKnown);
  drafts.Append(13);
  return drafts;
}

TEST(Drafts, AChainIsOneBranch) {
  Drafts chain = {7, 8, 9};
  EXPECT_EQ(chain.size(), 3);
  EXPECT_EQ(chain.length(), 3);
  EXPECT_EQ(chain.FirstChain(), 3);
  EXPECT_FALSE(chain.has_branches());
  EXPECT_EQ(chain.num_branches(), 1);
  EXPECT_EQ(chain.BranchOf(Drafts::kKnown), 0);
  EXPECT_EQ(chain.PathTokens(1), (std::vector<int32_t>{7, 8}));
  chain.Truncate(1);
  EXPECT_EQ(chain, Drafts{7});
  Drafts none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.length(), 0);
  EXPECT_EQ(none.FirstChain(), 0);
  EXPECT_EQ(none.num_branches(), 1);
  EXPECT_EQ(none.Child(Drafts::kKnown, 7), Drafts::kNone);
}

TEST(Drafts, ATreeKnowsItsPathsAndBranches) {
  Drafts tree = Tree();
  EXPECT_EQ(tree.length(), 3);
  EXPECT_EQ(tree.FirstChain(), 3);
  EXPECT_EQ(tree.num_branches(), 4);
  const Ints depths = {1, 2, 3, 3, 2, 1, 2}, branches = {0, 0, 0, 1, 2, 3, 3},
             ends = {3, 3, 3, 4, 5, 7, 7};
  for (int draft = 0; draft < tree.size(); ++draft) {
    size_t at = static_cast<size_t>(draft);
    EXPECT_EQ(tree.depth(draft), depths[at]) << draft;
    EXPECT_EQ(tree.BranchOf(draft), branches[at]) << draft;
    EXPECT_EQ(tree.BranchEnd(draft), ends[at]) << draft;
  }
  EXPECT_EQ(tree.Path(3), (Ints{0, 1, 3}));
  EXPECT_EQ(tree.Path(Drafts::kKnown), Ints());
  EXPECT_EQ(tree.Child(Drafts::kKnown, 12), 5);
  EXPECT_EQ(tree.Child(0, 11), 4);
  EXPECT_EQ(tree.Child(0, 9), Drafts::kNone) << "it stands elsewhere";
}

TEST(Drafts, PartsOfATreeAreTrees) {
  Drafts flat = Tree();
  flat.Prune(1);
  EXPECT_EQ(flat.tokens(), (std::vector<int32_t>{7, 12}));
  EXPECT_EQ(flat.parent(1), Drafts::kKnown);
  Drafts some = Tree();
  some.KeepIf([](int draft) { return draft != 1; });  // and what is behind it
  EXPECT_EQ(some.tokens(), (std::vector<int32_t>{7, 11, 12, 13}));
  EXPECT_EQ(some.parent(1), 0);
  EXPECT_EQ(some.parent(2), Drafts::kKnown);
  EXPECT_EQ(some.num_branches(), 2) << "11 follows 7 now";
}

TEST(Drafts, TheLikeliestAreATreeToo) {
  Drafts tree;  // 7 (8 (9), 10), 11
  tree.Add(7, Drafts::kKnown, 0.6);
  tree.Add(8, 0, 0.5);
  tree.Add(9, 1, 0.1);
  tree.Add(10, 0, 0.1);
  tree.Add(11, Drafts::kKnown, 0.3);
  auto likeliest = [&](int count) {
    Drafts kept = tree;
    kept.KeepLikeliest(count);
    return kept;
  };
  EXPECT_EQ(likeliest(2), (Drafts{7, 8}));
  EXPECT_EQ(likeliest(3).tokens(), (std::vector<int32_t>{7, 8, 11}));
  EXPECT_EQ(likeliest(3).chance(2), 0.3);
  EXPECT_EQ(likeliest(4).tokens(), (std::vector<int32_t>{7, 8, 9, 11}))
      << "the first of equal ones";
  EXPECT_EQ(likeliest(9), tree);
  EXPECT_TRUE(likeliest(0).empty());
}

TEST(Drafts, DepthFirstIsTheSameTreeInFewBranches) {
  Drafts levels;
  levels.Add(7, Drafts::kKnown);
  levels.Add(12, Drafts::kKnown);
  levels.Add(8, 0);
  levels.Add(13, 1);
  levels.Add(11, 0);
  levels.Add(9, 2);
  levels.Add(10, 2);
  EXPECT_EQ(levels.DepthFirst(), Tree());
  EXPECT_EQ(Tree().DepthFirst(), Tree());
  EXPECT_EQ(Drafts().DepthFirst(), Drafts());
}

}  // namespace
}  // namespace mlc
