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
    EXPECT_EQ(LookUpDrafts(Bytes(c.tokens), c.max_drafts), Bytes(c.drafts)) << c.tokens;
  }
}

}  // namespace
}  // namespace mlc
