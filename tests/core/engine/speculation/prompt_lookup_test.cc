#include "engine/speculation/prompt_lookup.h"

#include <gtest/gtest.h>

#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::Bytes;

struct Case {
  const char* tokens;
  int max_drafts;
  const char* drafts;
};

TEST(LookUpDrafts, FindsWhatFollowedBefore) {
  const Case cases[] = {{"", 4, ""},
                        {"a", 4, ""},
                        {"aa", 4, ""},  // one token found again is no evidence
                        {"abcdefgh", 4, ""},
                        {"xbcdefbc", 3, "def"},
                        {"xbcdefbc", 1, "d"},
                        {"abc ab", 8, "c abc ab"},  // it goes on into what it stands in
                        {"aaa", 4, "aaaa"},
                        {"ababab", 5, "ababa"},
                        {"1bcX 2abcY zabc", 1, "Y"},  // the longest run wins
                        {"abcX abcY abc", 2, "Y "},   // and of equal ones the latest
                        {"bcX cY bc", 1, "X"}};
  for (const Case& c : cases) {
    EXPECT_EQ(LookUpDrafts(Bytes(c.tokens), c.max_drafts).drafts, Bytes(c.drafts)) << c.tokens;
  }
}

TEST(LookUpDrafts, EmbeddingRowsAreNoDrafts) {
  for (int width : {1, 3}) {
    EXPECT_EQ(LookUpDrafts({1, 2, 3, -5, -5, 9, 1, 2}, 4, width).drafts, Drafts({3}));
    EXPECT_TRUE(LookUpDrafts({1, 2, -5, -5, 9, 1, 2}, 4, width).drafts.empty());
  }
}

TEST(LookUpDrafts, ATreeHasTheContinuationsOfTheBestPlaces) {
  struct {
    const char* tokens;
    int max_drafts, width;
    std::vector<const char*> paths;  // to the leaves
  } const cases[] = {{"abcX abcY abc", 2, 2, {"Y ", "X "}},
                     {"abcX abcY abc", 2, 1, {"Y "}},
                     {"abcXp abcXq abcY abc", 2, 3, {"Y ", "Xq", "Xp"}},
                     {"abcXp abcXq abcY abc", 2, 2, {"Y ", "Xq"}},
                     {"abcX abcX abc", 2, 4, {"X "}},  // twice the same
                     {"abcdefgh", 4, 3, {}},
                     {"", 4, 3, {}}};
  for (const auto& c : cases) {
    Drafts drafts = LookUpDrafts(Bytes(c.tokens), c.max_drafts, c.width).drafts;
    size_t next = 0;
    for (int draft = 0; draft < drafts.size(); ++draft) {
      if (drafts.depth(draft) < c.max_drafts) continue;
      ASSERT_LT(next, c.paths.size()) << c.tokens;
      EXPECT_EQ(drafts.PathTokens(draft), Bytes(c.paths[next++])) << c.tokens;
    }
    EXPECT_EQ(next, c.paths.size()) << c.tokens;
    EXPECT_EQ(drafts, drafts.DepthFirst());
  }
}

}  // namespace
}  // namespace mlc
