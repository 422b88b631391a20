#include "engine/mask_filler.h"

#include <gtest/gtest.h>

#include <chrono>

#include "support/byte_tokenizer.h"
#include "support/request_state.h"

namespace mlc {
namespace {

using testing::kByteVocab;
using testing::kEnd;

std::shared_ptr<Sequence> Guided(SequenceId id) {
  static GrammarCompiler compiler(*testing::ByteTokenizer(), kByteVocab, {kEnd});
  static const Grammar grammar = *compiler.CompileRegex("[a-z]{1,300}");
  Request request;
  request.prompt = testing::Bytes("Hi");
  request.grammar = grammar;
  EXPECT_TRUE(grammar.Prepare().ok());
  return std::make_shared<Sequence>(id, 0, testing::StateOf(std::move(request)),
                                    testing::ByteTokenizer().get());
}

std::vector<float> Masked(Sequence* sequence) {
  std::vector<float> row(kByteVocab, 0.0f);
  EXPECT_TRUE(sequence->MaskByGrammar(row.data(), kByteVocab, row.data()).ok());
  return row;
}

TEST(MaskFiller, GrammarsStandWhereTheyStoodHoweverEarlyItIsEnded) {
  MaskFiller filler(/*worthwhile_s=*/0);
  auto plain = Guided(100);
  for (int round = 0; round < 200; ++round) {
    std::vector<StepItem> items;
    for (SequenceId id = 0; id < 5; ++id) {
      items.push_back({Guided(id), 1, id != 3, testing::Bytes(std::string(id * 2, 'a'))});
    }
    filler.Begin(items);
    std::this_thread::sleep_for(std::chrono::microseconds(round * 2));
    filler.End();
    for (const StepItem& item : items) {
      EXPECT_EQ(Masked(item.sequence.get()), Masked(plain.get()));
      item.sequence->ForgetMasks();
      EXPECT_EQ(Masked(item.sequence.get()), Masked(plain.get()));
    }
  }
}

TEST(MaskFiller, MayBeEndedWithoutABeginning) {
  MaskFiller filler(0), unused(0);
  filler.End();
  filler.Begin({});
  filler.End();
  std::vector<StepItem> items{{Guided(1), 1, true}};
  filler.Begin(items);
  filler.End();
  filler.End();
}

TEST(MaskFiller, LeavesMasksThatAreQuickToTheCommit) {
  MaskFiller filler(/*worthwhile_s=*/1e9);
  std::vector<StepItem> items{{Guided(1), 1, true}};
  filler.Begin(items);
  filler.End();
  EXPECT_EQ(items[0].sequence->mask_seconds(), 0) << "it was filled";
}

}  // namespace
}  // namespace mlc
