#include "model/fake_model.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mlc {
namespace {

// Rows `tokens` of one sequence from `position` on, over `pages`.
Batch OneSequence(const std::vector<int32_t>& tokens, int position,
                  const std::vector<int32_t>& pages, int page_size) {
  Batch batch;
  batch.tokens = tokens;
  for (size_t i = 0; i < tokens.size(); ++i) {
    int at = position + static_cast<int>(i);
    batch.positions.push_back(at);
    batch.slots.push_back(pages[at / page_size] * page_size + at % page_size);
    batch.row_sequence.push_back(0);
  }
  batch.page_indices = pages;
  batch.page_indptr = {0, static_cast<int32_t>(pages.size())};
  batch.logit_rows = {static_cast<int32_t>(tokens.size()) - 1};
  return batch;
}

class FakeModelTest : public ::testing::Test {
 protected:
  FakeModelTest()
      : model_(FakeModel::SmallInfo(), [this](const auto& history, float*) { seen_ = history; }) {
    EXPECT_TRUE(model_.AllocatePages({8}).ok());
  }
  FakeModel model_;
  std::vector<int32_t> seen_;
};

TEST_F(FakeModelTest, ReadsTheHistoryThroughThePages) {
  ASSERT_TRUE(model_.Forward(OneSequence({1, 2, 3, 4, 5}, 0, {6, 2}, 4)).ok());
  ASSERT_TRUE(model_.Forward(OneSequence({6}, 5, {6, 2}, 4)).ok());
  EXPECT_EQ(seen_, (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(model_.CopyPages({6, 2}, {0, 1}).ok());
  ASSERT_TRUE(model_.Forward(OneSequence({7}, 6, {0, 1}, 4)).ok());
  EXPECT_EQ(seen_, (std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7}));
}

// What a wrong engine would ask for.
TEST_F(FakeModelTest, RefusesWrongBatches) {
  EXPECT_FALSE(model_.Forward(OneSequence({9}, 3, {0}, 4)).ok()) << "positions never written";
  Batch outside = OneSequence({1}, 0, {0}, 4);
  outside.slots = {32};
  EXPECT_FALSE(model_.Forward(outside).ok());
  Batch no_page = OneSequence({1, 2, 3, 4, 5}, 0, {0, 1}, 4);
  no_page.page_indptr = {0, 1};
  EXPECT_FALSE(model_.Forward(no_page).ok());
  Batch disordered = OneSequence({1, 2}, 0, {0}, 4);
  disordered.positions = {1, 0};
  EXPECT_FALSE(model_.Forward(disordered).ok());
  EXPECT_FALSE(model_.Forward(OneSequence(std::vector<int32_t>(17, 1), 0, {0, 1, 2, 3, 4}, 4)).ok())
      << "more rows than a chunk";
}

TEST_F(FakeModelTest, FailsWhenTold) {
  model_.FailForward(1, Internal("device lost"));
  EXPECT_TRUE(model_.Forward(OneSequence({1}, 0, {0}, 4)).ok());
  EXPECT_EQ(model_.Forward(OneSequence({2}, 1, {0}, 4)).status().message(), "device lost");
  EXPECT_TRUE(model_.Forward(OneSequence({2}, 1, {0}, 4)).ok());
  EXPECT_EQ(model_.num_forwards(), 3);
}

TEST(FakeModelScripts, ReplyAnswersThenEnds) {
  FakeModel::Script script = FakeModel::Reply(2, {7, 8}, 0);
  auto best = [&](const std::vector<int32_t>& history) {
    std::vector<float> logits(16, 0.0f);
    script(history, logits.data());
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
  };
  EXPECT_EQ(best({1, 2}), 7);
  EXPECT_EQ(best({1, 2, 7}), 8);
  EXPECT_EQ(best({1, 2, 7, 8}), 0);
  EXPECT_EQ(best({1, 2, 7, 8, 0}), 0);
}

TEST(FakeModelScripts, AHashSeesEveryToken) {
  FakeModel::Script script = FakeModel::HashOfHistory(256);
  auto logits = [&](const std::vector<int32_t>& history) {
    std::vector<float> out(256, 0.0f);
    script(history, out.data());
    return out;
  };
  EXPECT_EQ(logits({1, 2, 3}), logits({1, 2, 3}));
  EXPECT_NE(logits({1, 2, 3}), logits({1, 2, 4}));
  EXPECT_NE(logits({1, 2, 3}), logits({2, 1, 3}));
  EXPECT_NE(logits({1, 2, 3}), logits({1, 2}));
}

TEST(FakeModelScripts, WordsFinishTheCharactersTheyBegin) {
  FakeModel::Script script = FakeModel::Words(300, {299});
  int num_halves = 0, num_ends = 0;
  std::vector<int32_t> history = {1};
  for (int i = 0; i < 2000; ++i) {
    std::vector<float> logits(300, 0.0f);
    script(history, logits.data());
    auto best =
        static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    if (history.back() >= 224 && history.back() < 240) {
      EXPECT_EQ(best, history.back() + 16);
      ++num_halves;
    } else {
      EXPECT_TRUE(best < 240 || best == 299) << best;
    }
    num_ends += best == 299;
    history.push_back(best == 299 ? 1 : best);
  }
  EXPECT_GT(num_halves, 50);
  EXPECT_GT(num_ends, 10);
  EXPECT_LT(num_ends, 70);
}

TEST(FakeModelScripts, AnEndTokenBehindTheVocabularyNeverComes) {
  FakeModel::Script script = FakeModel::Words(8, {9});
  for (int32_t token = 0; token < 500; ++token) {
    std::vector<float> logits(10, 0.0f);
    script({token}, logits.data());
    EXPECT_EQ(logits[9], 0.0f);
  }
}

}  // namespace
}  // namespace mlc
