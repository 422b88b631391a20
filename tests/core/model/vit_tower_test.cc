#include "model/vit_tower.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/base64.h"
#include "support/tiny_pictures.h"

namespace mlc {
namespace {

const std::string kCat = *DecodeBase64(testing::kTinyPictures[0].base64);  // 13 x 6

// Gives each row the index of its first patch, and that patch's first number, in the second turn of
// a run.
class StandIn : public TowerProgram {
 public:
  const TowerSpec& spec() const override { return spec_; }
  std::unique_ptr<TowerRun> Begin(TowerInput input) override {
    return std::make_unique<Run>(this, std::move(input));
  }

  void Finish(const TowerInput& input, std::vector<float>* rows) {
    EXPECT_EQ(input.patches.size(), input.positions.size() / 2 * 12);
    EXPECT_EQ(static_cast<size_t>(input.view_indptr.back()), input.positions.size() / 2);
    views.push_back(static_cast<int>(input.view_indptr.size()) - 1);
    patches.push_back(input.view_indptr.back());
    for (int32_t first : input.first_patches) {
      rows->push_back(static_cast<float>(first));
      rows->push_back(first < 0 ? 0 : input.patches[static_cast<size_t>(first) * 12]);
    }
    last = input;
    if (loses_rows) rows->pop_back();
  }

  TowerSpec spec_{"image_embed", 12, 2, 2, 0, 0, false, false, 64, 3, 0};
  bool loses_rows = false;
  std::vector<int> views, patches;  // of each call
  TowerInput last;

 private:
  class Run : public TowerRun {
   public:
    Run(StandIn* program, TowerInput input) : program_(program), input_(std::move(input)) {}
    Result<bool> Advance(std::vector<float>* rows) override {
      if (++turns_ < 2) return false;
      program_->Finish(input_, rows);
      return true;
    }

   private:
    StandIn* program_;
    TowerInput input_;
    int turns_ = 0;
  };
};

PictureSettings Settings(const std::string& layout = R"("tiles", "longest_edge": 32)") {
  std::string json =
      R"({"tile": 8, "size": [8, 8], "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "filter": "lanczos",
          "patch_size": 2, "patch_order": "channel_row_column", "merge": 2, "layout": )" +
      layout + "}";
  return *PictureSettings::Parse(*Json::Parse(json));
}

std::vector<float> Encode(const Tower& tower, int num_rows) {
  auto maker = tower.Encode(kCat, PictureDetail::kAuto);
  EXPECT_TRUE(maker.ok()) << maker.status().message();
  LateRows rows(HashContent("cat"), num_rows, tower.width(), *std::move(maker));
  while (!rows.is_ready()) {
    Status status = rows.Advance();
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) return {};
  }
  return *rows.values();
}

TEST(VitTower, ViewsGoThroughTheFunctionInCallsThatFit) {
  auto program = std::make_shared<StandIn>();
  auto tower = *VitTower::Make(Settings(), program, "weights", 2);
  PicturePlan plan = *tower->Plan({13, 6}, PictureDetail::kAuto);
  EXPECT_EQ(plan.num_rows, 9 * 4) << "4 x 2 tiles, and the whole";
  std::vector<float> rows = Encode(*tower, plan.num_rows);
  EXPECT_EQ(program->views, (std::vector<int>{3, 3, 3})) << "by max_views";
  program->views.clear();
  program->spec_.max_patches = 40;
  auto narrow = *VitTower::Make(Settings(), program, "weights", 2);
  std::vector<float> again = Encode(*narrow, plan.num_rows);
  EXPECT_EQ(program->views, (std::vector<int>{2, 2, 2, 2, 1}));
  for (size_t i = 1; i < rows.size(); i += 2) EXPECT_EQ(again[i], rows[i]) << i;
}

TEST(VitTower, RowsOfTilesStandInLinesWithALearnedRowBehindEach) {
  auto program = std::make_shared<StandIn>();
  std::string layout = R"("any_resolution", "grids": [[8, 16]])";
  auto without = VitTower::Make(Settings(layout), program, "weights", 2);
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.status().param(), "pictures.layout");
  program->spec_.learned_rows = 1;
  program->spec_.max_views = 2;
  auto tower = *VitTower::Make(Settings(layout), program, "weights", 2);
  PicturePlan plan = *tower->Plan({13, 6}, PictureDetail::kAuto);
  ASSERT_EQ(plan.num_rows, 4 + 2 * 5);
  std::vector<float> rows = Encode(*tower, plan.num_rows);
  EXPECT_EQ(program->views, (std::vector<int>{2, 1})) << "the learned row is of the first call";
  std::vector<float> first;
  for (size_t i = 0; i < rows.size(); i += 2) first.push_back(rows[i]);
  EXPECT_EQ(first, (std::vector<float>{0, 4, 8, 12, 16, 20, 0, 4, -1, 24, 28, 8, 12, -1}));
}

TEST(VitTower, ATowerThatLosesRowsIsAnError) {
  auto program = std::make_shared<StandIn>();
  program->loses_rows = true;
  auto tower = *VitTower::Make(Settings(R"("stretched")"), program, "weights", 2);
  LateRows rows(HashContent("cat"), 4, 2, *tower->Encode(kCat, PictureDetail::kAuto));
  ASSERT_TRUE(rows.Advance().ok());
  ASSERT_TRUE(rows.Advance().ok());
  EXPECT_EQ(rows.Advance().code(), StatusCode::kInternal);
}

TEST(VitTower, AClassRowIsThePatchBeforeAView) {
  auto program = std::make_shared<StandIn>();
  program->spec_.class_row = true;
  auto tower = *VitTower::Make(Settings(R"("stretched")"), program, "weights", 2);
  Encode(*tower, 4);
  EXPECT_EQ(program->last.view_indptr, (std::vector<int32_t>{0, 17}));
  EXPECT_EQ(program->last.first_patches, (std::vector<int32_t>{1, 5, 9, 13}));
  EXPECT_EQ(program->last.positions[0], -1);
  EXPECT_EQ(program->last.positions[2], 0);
}

TEST(VitTower, BlocksOfAWindowAreAdjacentAndRowsKeepTheirOrder) {
  auto program = std::make_shared<StandIn>();
  program->spec_.window = 4;
  std::string multiples = R"("multiples", "min_pixels": 4, "max_pixels": 1000)";
  auto tower = *VitTower::Make(Settings(multiples), program, "weights", 2);
  Encode(*tower, 6);  // 13 x 6 becomes 12 x 8: 6 x 4 patches
  EXPECT_EQ(program->last.first_patches, (std::vector<int32_t>{0, 4, 16, 8, 12, 20}));
  EXPECT_EQ(program->last.window_indptr, (std::vector<int32_t>{0, 16, 24}));
  EXPECT_EQ(program->last.view_indptr, (std::vector<int32_t>{0, 24}));
  std::vector<int32_t> places(program->last.positions.begin() + 32,
                              program->last.positions.begin() + 38);
  EXPECT_EQ(places, (std::vector<int32_t>{0, 4, 0, 5, 1, 4})) << "the first of the second window";
  EXPECT_EQ(program->last.grids.size(), 48U);
  EXPECT_EQ(program->last.grids[0], 4);
  EXPECT_EQ(program->last.grids[47], 6);
  program->spec_.window = 3;
  EXPECT_EQ(VitTower::Make(Settings(multiples), program, "w", 2).status().param(), "model_lib");
}

TEST(VitTower, WhatDoesNotFitIsNamed) {
  auto program = std::make_shared<StandIn>();
  EXPECT_EQ(VitTower::Make(Settings(), program, "w", 3).status().param(), "model_lib");
  program->spec_.merge = 4;
  EXPECT_EQ(VitTower::Make(Settings(), program, "w", 2).status().param(), "pictures.merge");
  program->spec_.columns = 4;
  program->spec_.merge = 2;
  EXPECT_EQ(VitTower::Make(Settings(), program, "w", 2).status().param(), "pictures.columns");
  program->spec_.columns = 0;
  program->spec_.rotary = true;
  EXPECT_EQ(VitTower::Make(Settings(), program, "w", 2).status().param(), "pictures.rotary");
  program->spec_.patch_dim = 27;
  EXPECT_EQ(VitTower::Make(Settings(), program, "w", 2).status().param(), "pictures.patch_size");
  auto small = std::make_shared<StandIn>();
  small->spec_.max_patches = 15;
  EXPECT_EQ(VitTower::Make(Settings(), small, "w", 2).status().param(), "pictures.tile");
  small->spec_.max_patches = 16;
  auto tower = *VitTower::Make(Settings(), small, "w", 2);
  small->spec_.max_patches = 15;
  EXPECT_EQ(tower->Plan({8, 8}, PictureDetail::kAuto).status().code(), StatusCode::kUnsupported);
  EXPECT_TRUE(tower->Encode("cat", PictureDetail::kAuto).status().Is(Reason::kImageParseError));
}

TEST(VitTower, TheIdSaysWeightsAndSettings) {
  auto program = std::make_shared<StandIn>();
  std::string id = (*VitTower::Make(Settings(), program, "a", 2))->id();
  EXPECT_EQ((*VitTower::Make(Settings(), program, "a", 2))->id(), id);
  EXPECT_NE((*VitTower::Make(Settings(), program, "b", 2))->id(), id);
  EXPECT_NE((*VitTower::Make(Settings(R"("stretched")"), program, "a", 2))->id(), id);
}

TEST(TowerSpec, ErrorsNameTheField) {
  int64_t bytes = 0;
  auto read = [&](const std::string& members) {
    return ReadTowerSpec(*Json::Parse(R"({"tower": {"function": "image_embed", "patch_dim": 12,
        "merge": 2, "width": 4, "max_views": 2, "memory": 9)" +
                                      members + "}}"),
                         &bytes);
  };
  EXPECT_FALSE(ReadTowerSpec(Json::MakeObject(), &bytes)->has_value());
  EXPECT_EQ(read(R"(, "max_patches": 64)")->value().max_patches, 64);
  EXPECT_EQ(bytes, 9);
  EXPECT_EQ(read("").status().param(), "max_patches");
  EXPECT_EQ(read(R"(, "max_patches": 0)").status().param(), "tower.max_patches");
  EXPECT_EQ(read(R"(, "max_patches": 64, "memory": -1)").status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mlc
