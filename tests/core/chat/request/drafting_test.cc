#include "chat/request/drafting.h"

#include <gtest/gtest.h>

#include "engine/speculation/layer_drafter.h"
#include "engine/speculation/medusa.h"
#include "model/fake_model.h"
#include "support/byte_tokenizer.h"

namespace mlc {
namespace {

using testing::kByteVocab;

protocol::EngineConfig Config(const std::string& json) {
  return *protocol::EngineConfig::Parse(*Json::Parse(json));
}

Result<std::optional<ModelFiles>> Files(const std::string& config, const std::string& model,
                                        const std::string& device = "cpu") {
  return DraftFiles(Config(config), *Json::Parse(model), device);
}

std::unique_ptr<Model> SmallModel() {
  ModelInfo info = FakeModel::SmallInfo();
  info.vocab_size = kByteVocab;
  return std::make_unique<FakeModel>(info, FakeModel::HashOfHistory(kByteVocab));
}

TEST(DraftFiles, ComeFromTheLoadOrTheConfig) {
  EXPECT_FALSE(Files("{}", "{}")->has_value());
  EXPECT_FALSE(Files(R"({"speculative_mode": "prompt_lookup"})", "{}")->has_value());
  auto files = Files(R"({"speculative_mode": "small_draft"})",
                     R"({"draft": {"model": "folder", "model_lib": "lib.so"}})");
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ((*files)->folder, "folder");
  EXPECT_EQ((*files)->library, "lib.so");
  files = Files(
      R"({"speculative_mode": "small_draft", "additional_models": ["a,b/folder,lib.so"]})", "{}");
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ((*files)->folder, "a,b/folder");
  EXPECT_EQ((*files)->library, "lib.so");
  files = Files(R"({"speculative_mode": "small_draft", "additional_models": ["folder"]})", "{}",
                "fake");
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_TRUE((*files)->is_fake);
}

struct Refusal {
  const char *config, *model, *param;
  StatusCode code;
};

TEST(DraftFiles, WhatCannotBeIsRefused) {
  const StatusCode invalid = StatusCode::kInvalidArgument;
  const char *none = "{}", *draft = R"({"draft": {"model": "m", "model_lib": "l"}})";
  const Refusal refusals[] = {
      {R"({"speculative_mode": "medusa"})", draft, "additional_models", invalid},
      {R"({"speculative_mode": "small_draft"})", none, "speculative_mode", invalid},
      {R"({"speculative_mode": "small_draft", "additional_models": []})", none, "speculative_mode",
       invalid},
      {R"({"speculative_mode": "small_draft", "additional_models": ["m"]})", none,
       "additional_models", invalid},
      {R"({"speculative_mode": "small_draft", "additional_models": ["m,l", "n,l"]})", none,
       "additional_models", invalid},
      {none, draft, "additional_models", invalid},
      {R"({"additional_models": ["m,l"]})", none, "additional_models", invalid},
      {R"({"speculative_mode": "prompt_lookup"})", draft, "additional_models", invalid},
      {R"({"spec_draft_length": 4, "mode": "server"})", none, "spec_draft_length", invalid},
      {R"({"spec_tree_width": 2, "speculative_mode": "disable"})", none, "spec_tree_width",
       invalid},
      {R"({"speculative_mode": "small_draft"})", R"({"draft": 3})", "draft", invalid},
      {R"({"speculative_mode": "small_draft"})", R"({"draft": {"model": "m"}})", "draft.model_lib",
       StatusCode::kNotFound},
      {R"({"speculative_mode": "small_draft"})", R"({"draft": {"model_lib": "l"}})", "draft.model",
       invalid}};
  for (const Refusal& r : refusals) {
    Status status = Files(r.config, r.model).status();
    EXPECT_EQ(status.code(), r.code) << r.config << r.model << status.message();
    EXPECT_EQ(status.param(), r.param) << r.config << r.model;
  }
}

TEST(CheckSameVocabulary, ComparesEveryToken) {
  std::string text = testing::ByteTokenizerJson();
  EXPECT_TRUE(CheckSameVocabulary(*testing::ByteTokenizer(), *testing::ByteTokenizer()).ok());
  std::string renamed = text, larger = text;
  renamed.replace(renamed.find("<start>"), 7, "<begin>");
  Status status = CheckSameVocabulary(*testing::ByteTokenizer(), **Tokenizer::FromJson(renamed));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.param(), "additional_models");
  EXPECT_NE(status.message().find("token 257 is '<begin>'"), std::string::npos) << status.message();
  const std::string list = "\"added_tokens\":[";
  larger.insert(larger.find(list) + list.size(),
                R"({"id":258,"content":"<more>","single_word":false,"lstrip":false,)"
                R"("rstrip":false,"normalized":false,"special":true},)");
  status = CheckSameVocabulary(*testing::ByteTokenizer(), **Tokenizer::FromJson(larger));
  EXPECT_NE(status.message().find("259 tokens instead of 258"), std::string::npos)
      << status.message();
}

TEST(DraftKind, IsTheModelsOwnWhereNoModeIsNamed) {
  EXPECT_EQ(DraftKind(Config("{}")), std::nullopt);
  EXPECT_EQ(DraftKind(Config(R"({"mode": "server"})")), "");
  EXPECT_EQ(DraftKind(Config(R"({"speculative_mode": "disable"})")), "");
  EXPECT_EQ(DraftKind(Config(R"({"speculative_mode": "prompt_lookup"})")), "");
  EXPECT_EQ(DraftKind(Config(R"({"speculative_mode": "eagle", "mode": "server"})")), kEagle);
}

TEST(WithOwnDraft, TakesTheModeOfThePartThatWasLoaded) {
  ModelInfo part;
  part.draft_kind = kMedusa;
  EXPECT_EQ(WithOwnDraft(Config("{}"), &part).speculative_mode, protocol::SpeculativeMode::kMedusa);
  EXPECT_EQ(WithOwnDraft(Config("{}"), nullptr).speculative_mode, std::nullopt);
  auto named = Config(R"({"speculative_mode": "prompt_lookup"})");
  EXPECT_EQ(WithOwnDraft(named, &part).speculative_mode, named.speculative_mode);
}

TEST(WithDrafting, CountsTheDraftModelAndItsRows) {
  ModelInfo model, draft;
  model.page_size = 16;
  model.page_bytes = 1600;
  model.weight_bytes = 100;
  model.logit_row_bytes = 10;
  model.prefill_chunk_size = 512;
  draft.page_size = 8;
  draft.page_bytes = 80;
  draft.weight_bytes = 7;
  draft.logit_row_bytes = 3;
  EXPECT_EQ(WithDrafting(Config("{}"), model, nullptr, Lookup::kOwnText).logit_row_bytes, 10);
  std::string lookup = R"({"speculative_mode": "prompt_lookup", "spec_draft_length": 4})";
  EXPECT_EQ(WithDrafting(Config(lookup), model, nullptr, Lookup::kOwnText).logit_row_bytes, 50);
  ModelInfo both = WithDrafting(Config(R"({"speculative_mode": "small_draft"})"), model, &draft,
                                Lookup::kAllTexts);
  EXPECT_EQ(both.step_bytes, NgramTable::kBytes);
  EXPECT_EQ(both.page_bytes, 1760);
  EXPECT_EQ(both.weight_bytes, 107);
  EXPECT_EQ(both.logit_row_bytes, 10 * (1 + kMaxDrafts) + 3);
  auto tree = Config(R"({"speculative_mode": "small_draft", "spec_draft_length": 4,
                         "spec_tree_width": 3})");
  EXPECT_EQ(WithDrafting(tree, model, &draft, Lookup::kOwnText).logit_row_bytes,
            10 * (1 + 12) + 3 * 3);
}

TEST(WithDrafting, CountsTheStatesOfAllRowsThatADraftReads) {
  ModelInfo model, draft;
  model.row_bytes = 5;
  draft.hidden_size = 8;
  draft.draft_kind = kMedusa;
  auto medusa = Config(R"({"speculative_mode": "medusa"})");
  EXPECT_EQ(WithDrafting(medusa, model, &draft, Lookup::kOwnText).row_bytes, 5 + 2 * 4 * 8);
  draft.draft_kind = kEagle;
  draft.num_chosen_layers = 3;
  auto eagle = Config(R"({"speculative_mode": "eagle"})");
  EXPECT_EQ(WithDrafting(eagle, model, &draft, Lookup::kOwnText).row_bytes,
            5 + 2 * 4 * (8 + 3 * 8));
  EXPECT_EQ(WithDrafting(Config("{}"), model, &draft, Lookup::kOwnText).row_bytes, 5);
}

TEST(MakeDrafter, FollowsTheMode) {
  EngineOptions options;
  const Tokenizer& tokenizer = *testing::ByteTokenizer();
  ModelInfo target;
  auto make = [&](const protocol::EngineConfig& config, std::unique_ptr<Model> draft) {
    return MakeDrafter(config, target, tokenizer, options, std::move(draft));
  };
  EXPECT_EQ(*make(Config("{}"), nullptr), nullptr);
  auto lookup = Config(R"({"speculative_mode": "prompt_lookup"})");
  EXPECT_EQ(*make(lookup, nullptr), nullptr) << "it needs none";
  auto draft = Config(R"({"speculative_mode": "small_draft"})");
  EXPECT_NE(*make(draft, SmallModel()), nullptr);
  EXPECT_FALSE(make(draft, nullptr).ok());
  options.draft_shape.width = 2;
  Status status = make(lookup, nullptr).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported) << "a library of before";
  EXPECT_EQ(status.param(), "spec_tree_width");
  target.token_trees = true;
  EXPECT_TRUE(make(lookup, nullptr).ok());
}

TEST(CheckDraftShape, AShapeNeedsAModeOrAPartThatDraftsByItself) {
  auto shaped = Config(R"({"spec_draft_length": 4, "spec_tree_width": 2})");
  EXPECT_TRUE(DraftFiles(shaped, *Json::Parse("{}"), "cpu").ok()) << "the model may have a part";
  EXPECT_EQ(CheckDraftShape(shaped).param(), "spec_draft_length");
  EXPECT_EQ(CheckDraftShape(Config(R"({"spec_tree_width": 2})")).param(), "spec_tree_width");
  ModelInfo part;
  part.draft_kind = kMtp;
  EXPECT_TRUE(CheckDraftShape(WithOwnDraft(shaped, &part)).ok());
  EXPECT_TRUE(CheckDraftShape(Config("{}")).ok());
}

TEST(LookupFor, ATableIsForThoseWhoNameAMode) {
  EXPECT_EQ(LookupFor(Config("{}"), false), Lookup::kNone);
  EXPECT_EQ(LookupFor(Config("{}"), true), Lookup::kOwnText);
  EXPECT_EQ(LookupFor(Config(R"({"speculative_mode": "disable"})"), false), Lookup::kNone);
  EXPECT_EQ(LookupFor(Config(R"({"speculative_mode": "prompt_lookup"})"), false),
            Lookup::kAllTexts);
  EXPECT_EQ(LookupFor(Config(R"({"speculative_mode": "mtp"})"), true), Lookup::kAllTexts);
}

TEST(MakeDrafter, AnEagleLayerReadsOnlyLayersThatTheModelGives) {
  ModelInfo target, layer = FakeModel::SmallInfo();
  layer.vocab_size = kByteVocab;
  layer.draft_kind = kEagle;
  layer.takes_states = true;
  layer.num_chosen_layers = 3;
  EngineOptions options;
  options.max_total_tokens = 64;
  auto make = [&] {
    return MakeDrafter(Config(R"({"speculative_mode": "eagle"})"), target,
                       *testing::ByteTokenizer(), options,
                       std::make_unique<FakeModel>(layer, FakeModel::HashOfHistory(kByteVocab)));
  };
  Status status = make().status();
  EXPECT_EQ(status.code(), StatusCode::kCorrupt);
  EXPECT_EQ(status.param(), "model_lib");
  target.num_chosen_layers = 3;
  EXPECT_NE(*make(), nullptr);
}

}  // namespace
}  // namespace mlc
