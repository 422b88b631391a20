#include "engine/speculation/ngram_table.h"

#include <gtest/gtest.h>

#include "engine/engine_driver.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::Bytes;
using testing::Driver;
using testing::MakeEngine;

NgramTable TableOf(const std::vector<const char*>& texts) {
  NgramTable table;
  for (const char* text : texts) table.Learn(Bytes(text), 0);
  return table;
}

TEST(NgramTable, FindsWhatFollowedInOtherTexts) {
  struct {
    std::vector<const char*> texts;
    const char* tokens;
    int max_drafts, longer_than;
    const char* drafts;
  } const cases[] = {{{}, "abcd", 4, 0, ""},
                     {{"abcdefgh"}, "xabcd", 3, 0, "efg"},
                     {{"abcdefgh"}, "xabcd", 8, 0, "efgh"},  // as far as the text went
                     {{"abcdefgh"}, "bcd", 3, 0, ""},        // shorter than an n-gram
                     {{"abcdefgh"}, "xabcd", 3, 4, ""},      // nothing longer than 4 agrees
                     {{"12345678X", "45678Y"}, "12345678", 1, 0, "X"},  // the longer n-gram wins
                     {{"12345678X", "45678Y"}, "12345678", 1, 4, "X"},
                     {{"12345678X", "45678Y"}, "..345678", 1, 0, "Y"},  // else the newest text
                     // Only the first draft must stand behind a longer n-gram.
                     {{"12345678X", "678XYZ"}, "12345678", 3, 7, "XYZ"}};
  for (const auto& c : cases) {
    Drafts drafts = TableOf(c.texts).LookUp(Bytes(c.tokens), c.max_drafts, c.longer_than);
    EXPECT_EQ(drafts, Drafts(Bytes(c.drafts))) << c.tokens << " " << c.drafts;
  }
}

TEST(NgramTable, LearnsFromTheGivenTokenOnAndForgets) {
  NgramTable table;
  std::vector<int32_t> text = Bytes("abcdefgh");
  table.Learn(text, 6);
  EXPECT_TRUE(table.LookUp(Bytes("abcd"), 1, 0).empty());
  EXPECT_EQ(table.LookUp(Bytes("cdef"), 1, 0), Drafts({'g'}));
  table.Clear();
  EXPECT_TRUE(table.LookUp(Bytes("cdef"), 1, 0).empty());
}

TEST(NgramTable, EmbeddingRowsAndHugeIdsAreNoDrafts) {
  NgramTable table;
  table.Learn({1, 2, 3, 4, -5, 1, 2, -3, 4, 9, 1, 2, 3, 5, 1 << 20}, 0);
  EXPECT_TRUE(table.LookUp({1, 2, 3, 4}, 1, 0).empty());
  EXPECT_TRUE(table.LookUp({1, 2, -3, 4}, 1, 0).empty());
  EXPECT_TRUE(table.LookUp({1, 2, 3, 5}, 1, 0).empty());
  EXPECT_EQ(table.LookUp({4, 9, 1, 2}, 1, 0), Drafts({3}));
}

// An answer of different tokens never repeats itself, but another request had it.
TEST(NgramTable, LookupDraftsFromTheAnswersOfOtherRequests) {
  FakeModel::Script count = [](const std::vector<int32_t>& history, float* logits) {
    logits[history.back() + 1] = 5;
  };
  EngineOptions options = Driver::Options();
  options.draft_shape = {4};
  options.lookup = Lookup::kAllTexts;
  Driver driver(MakeEngine(count, options));
  auto steps_for = [&](RequestId id) {
    Request request;
    request.id = id;
    request.prompt = Bytes("abcd");
    request.max_tokens = 20;
    request.sampling.temperature = 0;
    int64_t before = driver.engine().metrics().num_steps;
    EXPECT_TRUE(driver.Add(request).ok());
    driver.Run();
    return driver.engine().metrics().num_steps - before;
  };
  EXPECT_EQ(steps_for(1), 20);
  EXPECT_LE(steps_for(2), 6);
  EXPECT_EQ(driver.outcomes().at(2).choices, driver.outcomes().at(1).choices);
}

}  // namespace
}  // namespace mlc
