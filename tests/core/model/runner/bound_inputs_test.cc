#include "model/runner/bound_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mlc {
namespace {

using Ints = std::vector<int32_t>;

InputSpec Spec(const char* name, const char* size = "n", Shape row = {}) {
  return {name, size, std::move(row), DType::kInt32};
}

// What every step takes, in an order that is not the table's, and `more`.
std::vector<InputSpec> Specs(std::vector<InputSpec> more = {}) {
  std::vector<InputSpec> specs = {Spec("page_indices", "p"), Spec("page_indptr", "b_plus_1"),
                                  Spec("row_sequence"),      Spec("slots"),
                                  Spec("positions"),         {"embeddings", "n", {8}, {}},
                                  {"kv_pages", "", {}, {}}};
  specs.insert(specs.begin() + 2, more.begin(), more.end());
  return specs;
}

// Three rows of two sequences.
Batch SomeBatch() {
  Batch batch;
  batch.tokens = {7, 8, 9};
  batch.positions = {4, 5, 0};
  batch.slots = {20, 21, 48};
  batch.row_sequence = {0, 0, 1};
  batch.page_indptr = {0, 1, 2};
  batch.page_indices = {1, 3};
  return batch;
}

Ints ValuesOf(BoundInputs* inputs, const Batch& batch, const char* name) {
  Result<std::vector<ProgramInput>*> values = inputs->Of(batch);
  EXPECT_TRUE(values.ok()) << values.status().message();
  size_t index = static_cast<size_t>(inputs->index(name));
  const ProgramInput& value = (**values)[index];
  const auto* data = static_cast<const int32_t*>(value.data);
  int64_t width = inputs->specs()[index].row.empty() ? 1 : inputs->specs()[index].row[0];
  return Ints(data, data + value.size * width);
}

TEST(BoundInputs, GivesTheValuesInTheOrderOfTheFunction) {
  BoundInputs inputs =
      *BoundInputs::Make("f", Specs({Spec("token_types"), Spec("hidden_rows", "h")}));
  Batch batch = SomeBatch();
  batch.hidden_rows = {2};
  EXPECT_EQ(inputs.index("page_indices"), 0);
  EXPECT_EQ(ValuesOf(&inputs, batch, "page_indices"), (Ints{1, 3}));
  EXPECT_EQ(ValuesOf(&inputs, batch, "slots"), (Ints{20, 21, 48}));
  EXPECT_EQ(ValuesOf(&inputs, batch, "hidden_rows"), Ints{2});
  EXPECT_EQ((**inputs.Of(batch))[static_cast<size_t>(inputs.index("embeddings"))].data, nullptr);
  EXPECT_EQ(inputs.index("rotary"), -1);
}

// Twice, so that nothing is left over of the step before.
TEST(BoundInputs, WhatAStepLeavesOutGetsItsDefault) {
  BoundInputs inputs =
      *BoundInputs::Make("f", Specs({Spec("token_types"), Spec("last_seen"), Spec("state_writes"),
                                     Spec("rotary", "n", {3}), Spec("state_source", "b")}));
  Batch full = SomeBatch(), plain = SomeBatch();
  full.token_types = {0, 1, 1};
  full.last_seen = {5, 5, 0};
  full.state_writes = {2, 2, -1};
  full.rotary = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  full.state_source = {4, -1};
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(ValuesOf(&inputs, plain, "token_types"), (Ints{0, 0, 0}));
    EXPECT_EQ(ValuesOf(&inputs, plain, "last_seen"), (Ints{4, 5, 0}));
    EXPECT_EQ(ValuesOf(&inputs, plain, "state_writes"), (Ints{-1, -1, -1}));
    EXPECT_EQ(ValuesOf(&inputs, plain, "rotary"), (Ints{4, 4, 4, 5, 5, 5, 0, 0, 0}));
    EXPECT_EQ(ValuesOf(&inputs, plain, "state_source"), (Ints{-1, -1}));
    for (const InputSpec& spec : inputs.specs()) {
      for (const StepInput& input : kStepInputs) {
        if (spec.name == input.name) {
          EXPECT_EQ(ValuesOf(&inputs, full, input.name), full.*input.values) << spec.name;
        }
      }
    }
  }
}

TEST(BoundInputs, ANameThatTheEngineDoesNotKnowIsRefused) {
  Status status = BoundInputs::Make("batch_prefill", Specs({Spec("mood")})).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.param(), "model_lib");
  EXPECT_NE(status.message().find("'batch_prefill' takes an input 'mood'"), std::string::npos);
  EXPECT_NE(status.message().find("compile the model again"), std::string::npos);
}

TEST(BoundInputs, ANameThatIsMissingIsRefused) {
  for (const char* name : {"positions", "slots", "row_sequence", "page_indptr", "page_indices"}) {
    std::vector<InputSpec> specs = Specs();
    specs.erase(std::find_if(specs.begin(), specs.end(),
                             [&](const InputSpec& spec) { return spec.name == name; }));
    Status status = BoundInputs::Make("batch_prefill", specs).status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << name;
    EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
  }
}

TEST(BoundInputs, AnInputOfAnotherShapeOrTypeIsRefused) {
  InputSpec floats = Spec("state_writes");
  floats.dtype = DType::kFloat32;
  for (const InputSpec& spec : {Spec("state_writes", "b"), Spec("state_writes", "n", {1}), floats,
                                Spec("rotary"), Spec("rotary", "n", {2})}) {
    Status status = BoundInputs::Make("f", Specs({spec})).status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << spec.name;
    EXPECT_NE(status.message().find(spec.name), std::string::npos) << status.message();
  }
}

TEST(BoundInputs, AStepThatHasMoreThanTheLibraryTakesIsRefused) {
  BoundInputs inputs = *BoundInputs::Make("f", Specs());
  EXPECT_TRUE(inputs.Takes(SomeBatch()));
  for (const StepInput& input : kStepInputs) {
    if (input.always || input.name == std::string("tokens")) continue;
    Batch batch = SomeBatch();
    batch.*input.values = Ints(static_cast<size_t>(3 * input.width));
    EXPECT_FALSE(inputs.Takes(batch)) << input.name;
    Status status = inputs.Of(batch).status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << input.name;
    EXPECT_NE(status.message().find(input.name), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace mlc
