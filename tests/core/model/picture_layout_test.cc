#include "model/picture_layout.h"

#include <gtest/gtest.h>

#include <string>

#include "model/picture_views.h"

namespace mlc {
namespace {

constexpr char kPixels[] =
    R"("mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "filter": "bilinear", "patch_size": 2,
       "patch_order": "channel_row_column", "merge": 2)";

Result<PictureSettings> Parse(const std::string& members) {
  return PictureSettings::Parse(*Json::Parse("{" + members + ", " + kPixels + "}"));
}

const std::string kTiles =
    R"("layout": "tiles", "tile": 8, "longest_edge": 32, "columns": 4,
       "text": {"tile": "<{row},{column}>", "row_end": "/", "whole": "<all>", "single": "<one>",
                "end": "."})";
const std::string kQwen =
    R"("layout": "multiples", "min_pixels": 64, "max_pixels": 1024, "rotary": true,
       "text": {"begin": "[", "end": "]"})";
const std::string kPixtral =
    R"("layout": "bounded", "longest_edge": 32, "text": {"row_end": "/", "end": "."})";
const std::string kAnyRes = R"("layout": "any_resolution", "tile": 8,
       "grids": [[8, 16], [16, 8], [16, 16]])";
const std::string kHighDef = R"("layout": "high_definition", "tile": 8, "max_tiles": 4)";
const std::string kGrid =
    R"("layout": "closest_grid", "tile": 8, "max_tiles": 6, "text": {"begin": "[", "end": "]"})";

const std::string kSlices = R"("layout": "slices", "tile": 8, "max_tiles": 9, "queries": 3,
       "text": {"begin": "[{picture}:", "end": "]", "tile": "<", "tile_end": ">", "row_end": "/"})";

const std::string kFilled =
    R"("layout": "filled", "min_pixels": 64, "max_pixels": 192, "text": {"begin": "[", "end": "]"})";

// "<1,1>4<1,2>4/": texts, and numbers of rows.
std::string Shape(const std::string& members, PictureSize size,
                  PictureDetail detail = PictureDetail::kAuto) {
  Result<PictureSettings> settings = Parse(members);
  if (!settings.ok()) return settings.status().message();
  Result<PictureLayout> layout = LayOutPicture(*settings, size, detail);
  if (!layout.ok()) return layout.status().message();
  std::string shape;
  int rows = 0, seen = 0;
  for (const PicturePiece& piece : layout->plan.pieces) {
    shape += piece.num_rows > 0 ? std::to_string(piece.num_rows) : piece.text;
    rows += piece.num_rows;
  }
  for (const PictureView& view : layout->views) seen += NumRows(*settings, view);
  for (int32_t row : layout->order) EXPECT_LT(row, seen);
  EXPECT_EQ(rows, layout->plan.num_rows);
  EXPECT_TRUE(!layout->order.empty() || rows == seen) << "of the views";
  return shape;
}

TEST(PictureLayout, Tiles) {
  EXPECT_EQ(Shape(kTiles, {64, 20}), "<1,1>4<1,2>4<1,3>4<1,4>4/<2,1>4<2,2>4<2,3>4<2,4>4/<all>4.");
  EXPECT_EQ(Shape(kTiles, {1, 300}), "<1,1>4/<2,1>4/<3,1>4/<4,1>4/<all>4.");
  EXPECT_EQ(Shape(kTiles, {64, 20}, PictureDetail::kLow), "<one>4.");
  EXPECT_EQ(Shape(kTiles + R"(, "split": false)", {64, 20}), "<one>4.");
  EXPECT_EQ(Shape(R"("layout": "tiles", "tile": 8, "longest_edge": 8)", {5, 5}), "4");
}

// MiniCPM-V's.
TEST(PictureLayout, Slices) {
  auto sizes = [](PictureSize size, PictureDetail detail = PictureDetail::kAuto) {
    PictureLayout layout = *LayOutPicture(*Parse(kSlices), size, detail);
    std::string found;
    for (const PictureView& view : layout.views) {
      found += std::to_string(view.size.width) + "x" + std::to_string(view.size.height) + " ";
    }
    return found;
  };
  EXPECT_EQ(Shape(kSlices, {8, 8}), "[{picture}:3]") << "no more pixels than a view";
  EXPECT_EQ(Shape(kSlices, {9, 8}), "[{picture}:3]<3><3>");
  EXPECT_EQ(Shape(kSlices, {20, 12}), "[{picture}:3]<3><3>/<3><3>");
  EXPECT_EQ(Shape(kSlices, {9, 90}), "[{picture}:3]<3>/<3>/<3>/<3>/<3>/<3>/<3>/<3>/<3>");
  EXPECT_EQ(Shape(kSlices, {900, 900}), "[{picture}:3]<3><3><3>/<3><3><3>/<3><3><3>");
  EXPECT_EQ(Shape(kSlices, {900, 900}, PictureDetail::kLow), "[{picture}:3]");
  EXPECT_EQ(Shape(kSlices + R"(, "split": false)", {900, 900}), "[{picture}:3]");
  EXPECT_EQ(sizes({4, 4}), "8x8 ") << "made larger";
  EXPECT_EQ(sizes({1, 1000}), "4x252 4x84 4x84 4x84 4x84 4x84 4x84 4x84 4x84 4x84 ");
  EXPECT_EQ(sizes({16, 8}), "8x4 8x8 8x8 ");
  PictureLayout layout = *LayOutPicture(*Parse(kSlices), {20, 12}, PictureDetail::kAuto);
  EXPECT_EQ(layout.rule.weights, ResizeWeights::kPillow);
  ASSERT_EQ(layout.resizes.size(), 1u);
  EXPECT_EQ(layout.views[4].window.left, layout.views[4].size.width);
  EXPECT_EQ(layout.views[4].window.top, layout.views[4].size.height);
  Patches patches;
  for (int view = 0; view < 2; ++view) {
    patches.Append(*Parse(kSlices), ViewPixels({8, 8, std::vector<uint8_t>(192)}));
  }
  EXPECT_EQ(patches.first_patches, (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
}

TEST(PictureLayout, OneView) {
  std::string text = R"(, "size": [8, 8], "shortest_edge": 8, "crop": [8, 8],
      "text": {"begin": "[", "end": "]"})";
  EXPECT_EQ(Shape(R"("layout": "stretched")" + text, {3, 500}), "[4]");
  EXPECT_EQ(Shape(R"("layout": "cropped")" + text, {500, 3}), "[4]");
}

// Gemma 3's pan and scan.
TEST(PictureLayout, StretchedWithTiles) {
  std::string gemma = R"("layout": "stretched", "size": [8, 8], "max_tiles": 4, "min_tile": 10,
      "split_ratio": 1.5, "text": {"begin": "[", "end": "]", "whole": "<all>", "first_tile": "<1>",
      "next_tile": "<n>"})";
  EXPECT_EQ(Shape(gemma, {30, 10}), "<all>[4]<1>[4]<n>[4]<n>[4]");
  EXPECT_EQ(Shape(gemma, {10, 30}), Shape(gemma, {30, 10}));
  EXPECT_EQ(Shape(gemma, {29, 20}), "[4]") << "below the ratio";
  EXPECT_EQ(Shape(gemma, {30, 20}), "<all>[4]<1>[4]<n>[4]") << "the ratio itself";
  EXPECT_EQ(Shape(gemma, {90, 9}), "[4]") << "the tiles were too small";
  EXPECT_EQ(Shape(gemma, {19, 12}), "<all>[4]<1>[4]<n>[4]") << "at least two";
  EXPECT_EQ(Shape(gemma, {900, 10}), "<all>[4]<1>[4]<n>[4]<n>[4]<n>[4]") << "at most max_tiles";
  EXPECT_EQ(Shape(gemma, {30, 10}, PictureDetail::kLow), "[4]");
  EXPECT_EQ(Shape(gemma + R"(, "split": false)", {30, 10}), "[4]");
  PictureLayout layout = *LayOutPicture(*Parse(gemma), {12, 31}, PictureDetail::kAuto);
  ASSERT_EQ(layout.views.size(), 4u);
  EXPECT_EQ(layout.views[2].window.top, 11);
  EXPECT_EQ(layout.views[2].window.width, 12);
  EXPECT_EQ(layout.views[2].window.height, 11);
  EXPECT_EQ(layout.views[3].window.height, 9) << "what is left";
}

TEST(PictureLayout, NoTileIsEmpty) {
  std::string most = R"("layout": "stretched", "size": [8, 8], "max_tiles": 7, "min_tile": 7,
      "split_ratio": 1)";
  for (int longer = 7; longer < 200; ++longer) {
    PictureLayout layout = *LayOutPicture(*Parse(most), {7, longer}, PictureDetail::kAuto);
    int covered = 0;
    for (size_t i = 1; i < layout.views.size(); ++i) {
      EXPECT_GT(layout.views[i].window.height, 0) << longer;
      covered += layout.views[i].window.height;
    }
    EXPECT_TRUE(layout.views.size() == 1 || covered == longer) << longer;
    EXPECT_LE(layout.views.size(), 8u);
  }
}

TEST(PictureLayout, Multiples) {
  EXPECT_EQ(Shape(kQwen, {20, 12}), "[15]");
  EXPECT_EQ(Shape(kQwen, {1, 1}), "[4]") << "made larger";
  EXPECT_EQ(Shape(kQwen, {1000, 1000}), "[64]") << "made smaller";
  EXPECT_NE(Shape(kQwen, {1000, 4}).find("1 to 250"), std::string::npos);
  PictureLayout layout = *LayOutPicture(*Parse(kQwen), {12, 8}, PictureDetail::kAuto);
  const std::vector<RotaryPosition>& positions = layout.plan.pieces[1].positions;
  ASSERT_EQ(positions.size(), 6u);
  EXPECT_EQ(positions[5], (RotaryPosition{0, 1, 2}));
}

TEST(PictureLayout, Bounded) {
  EXPECT_EQ(Shape(kPixtral, {9, 5}), "3/3.") << "never made larger";
  EXPECT_EQ(Shape(kPixtral, {320, 40}), "8.");
}

TEST(PictureLayout, Filled) {
  EXPECT_EQ(Shape(kFilled, {100, 100}), "[9]") << "12 x 12 pixels";
  EXPECT_EQ(Shape(kFilled, {2, 1}), "[8]") << "made larger: 16 x 8";
  EXPECT_EQ(Shape(kFilled, {100, 100}, PictureDetail::kLow), "[4]");
  EXPECT_EQ(Shape(kFilled, {300, 1}), "[12]") << "one row of blocks";
  EXPECT_EQ(Shape(kFilled, {1, 60}), "[12]");
}

TEST(PictureLayout, ClosestGrid) {
  EXPECT_EQ(Shape(kGrid, {30, 10}), "[4444]") << "three tiles, and the whole";
  EXPECT_EQ(Shape(kGrid, {10, 10}), "[4]");
  EXPECT_EQ(Shape(kGrid, {30, 10}, PictureDetail::kLow), "[4]");
}

// LFM2-VL's: a picture is cut above a number of pixels alone, and the thumbnail keeps its shape.
TEST(PictureLayout, ClosestGridOfLargePictures) {
  std::string lfm2 = R"("layout": "closest_grid", "tile": 8, "min_tiles": 2, "max_tiles": 6,
      "split_above": 128, "min_pixels": 32, "max_pixels": 64, "longest_ratio": 32768,
      "text": {"begin": "[", "tile": "<{row},{column}>", "whole": "<all>", "end": "]"})";
  EXPECT_EQ(Shape(lfm2, {12, 10}), "[2]") << "8 x 4 pixels";
  EXPECT_EQ(Shape(lfm2, {30, 10}), "[<1,1>4<1,2>4<1,3>4<all>3]");
  EXPECT_EQ(Shape(lfm2, {30, 10}, PictureDetail::kLow), "[3]");
  EXPECT_EQ(Shape(lfm2 + R"(, "thumbnail": false)", {30, 10}), "[<1,1>4<1,2>4<1,3>4]");
  EXPECT_EQ(Shape(lfm2, {2, 1}), "[2]") << "enlarged to min_pixels";
}

std::vector<int32_t> OrderOf(const std::string& members, PictureSize size) {
  return LayOutPicture(*Parse(members), size, PictureDetail::kAuto)->order;
}

TEST(PictureLayout, AnyResolution) {
  EXPECT_EQ(Shape(kAnyRes, {16, 8}), "14") << "4 of the whole, and 2 lines of 4 with an end";
  EXPECT_EQ(OrderOf(kAnyRes, {16, 8}),
            (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 8, 9, -1, 6, 7, 10, 11, -1}));
  EXPECT_EQ(Shape(kAnyRes, {16, 8}, PictureDetail::kLow), "5");
  EXPECT_EQ(OrderOf(kAnyRes, {60, 60}).size(), 24u) << "2 x 2 tiles";
  EXPECT_EQ(OrderOf(kAnyRes, {320, 80}).size(), 14u) << "of 4 lines two are padding";
  EXPECT_EQ(Shape(kAnyRes, {32768, 1}), "4") << "all lines are padding";
}

TEST(PictureLayout, HighDefinition) {
  EXPECT_EQ(Shape(kHighDef, {40, 10}), "25") << "4 tiles, a row before the whole";
  EXPECT_EQ(Shape(kHighDef, {10, 40}), "31") << "8 ends of lines";
  EXPECT_EQ(OrderOf(R"("layout": "high_definition", "tile": 8, "max_tiles": 1)", {5, 5}),
            (std::vector<int32_t>{0, 1, -1, 2, 3, -1, -2, 4, 5, -1, 6, 7, -1}));
  PictureLayout layout = *LayOutPicture(*Parse(kHighDef), {10, 4}, PictureDetail::kAuto);
  ASSERT_EQ(layout.resizes.size(), 1u);
  EXPECT_EQ(layout.resizes[0].width, 16);
  EXPECT_EQ(layout.resizes[0].height, 6);
  EXPECT_EQ(layout.views[0].window.top, -1);
  EXPECT_EQ(layout.fill[0], 255);
  EXPECT_TRUE(layout.views.back().interpolated);
}

TEST(PictureLayout, LongAndNarrowPicturesEndInLimits) {
  std::string clip = R"("layout": "cropped", "shortest_edge": 4096, "crop": [8, 8])";
  EXPECT_NE(Shape(clip, {32768, 1}).find("too long and narrow"), std::string::npos);
  for (PictureSize size : {PictureSize{32768, 1}, {1, 32768}, {1, 1}, {32768, 32768}}) {
    for (const std::string& members :
         {kTiles, kQwen, kPixtral, kGrid, kFilled, kAnyRes, kHighDef}) {
      EXPECT_NE(Shape(members, size), "");
    }
  }
}

TEST(PictureSettings, ErrorsNameTheField) {
  const std::pair<std::string, const char*> cases[] = {
      {R"("layout": "circles")", "pictures.layout"},
      {R"("layout": "stretched", "size": [0, 8])", "pictures.size"},
      {R"("layout": "cropped", "shortest_edge": 8, "crop": [8, 9])", "pictures.crop"},
      {R"("layout": "closest_grid", "tile": 1e300)", "pictures.tile"},
      {R"("layout": "tiles", "tile": 8)", "pictures.longest_edge"},
      {R"("layout": "tiles", "tile": 8, "longest_edge": 20000)", "pictures.longest_edge"},
      {R"("layout": "multiples", "min_pixels": 9, "max_pixels": 8)", "pictures.max_pixels"},
      {R"("layout": "multiples", "min_pixels": 9, "max_pixels": 9000000000)",
       "pictures.max_pixels"},
      {R"("layout": "closest_grid", "tile": 8, "max_tiles": 100000)", "pictures.max_tiles"},
      {R"("layout": "any_resolution", "tile": 8)", "pictures.grids"},
      {R"("layout": "any_resolution", "tile": 8, "grids": [])", "pictures.grids"},
      {R"("layout": "any_resolution", "tile": 8, "grids": [[8, 12]])", "pictures.grids"},
      {R"("layout": "any_resolution", "tile": 8, "grids": [[136, 128]])", "pictures.grids"},
      {R"("layout": "any_resolution", "tile": 8, "grids": [[8, 8]], "rotary": true)",
       "pictures.rotary"},
      {R"("layout": "high_definition", "tile": 8)", "pictures.max_tiles"},
      {R"("layout": "filled", "min_pixels": 9)", "pictures.max_pixels"},
      {R"("layout": "stretched", "size": [8, 8], "text": {"begin": 1})", "pictures.text"},
      {R"("layout": "stretched", "size": [8, 8], "split": 1)", "pictures.split"},
      {R"("layout": "stretched", "size": [8, 8], "split": true)", "pictures.max_tiles"},
      {R"("layout": "stretched", "size": [8, 8], "columns": -1)", "pictures.columns"},
      {R"("layout": "stretched", "size": [8, 8], "max_tiles": 0)", "pictures.max_tiles"},
      {R"("layout": "stretched", "size": [8, 8], "max_tiles": 4)", "pictures.min_tile"},
      {R"("layout": "stretched", "size": [8, 8], "max_tiles": 4, "min_tile": 3)",
       "pictures.min_tile"},
      {R"("layout": "stretched", "size": [8, 8], "max_tiles": 4, "min_tile": 4)",
       "pictures.split_ratio"},
      {R"("layout": "stretched", "size": [8, 8], "max_tiles": 4, "min_tile": 4,
          "split_ratio": 0.5)",
       "pictures.split_ratio"},
  };
  for (const auto& [members, field] : cases) {
    Result<PictureSettings> settings = Parse(members);
    ASSERT_FALSE(settings.ok()) << members;
    EXPECT_EQ(settings.status().param(), field) << settings.status().message();
  }
  std::string zero = R"({"layout": "stretched", "size": [8, 8], "mean": [0, 0, 0], "std": [1, 0, 1],
      "filter": "bilinear", "patch_size": 2, "patch_order": "channel_row_column", "merge": 2})";
  EXPECT_EQ(PictureSettings::Parse(*Json::Parse(zero)).status().param(), "pictures.std");
  EXPECT_EQ(PictureSettings::Parse(Json(1)).status().param(), "pictures");
}

// A picture whose red is the pixel's column, and green its row.
Picture Numbers(int width, int height) {
  Picture picture{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int value : {x, y, 7}) picture.rgb.push_back(static_cast<uint8_t>(value));
    }
  }
  return picture;
}

TEST(PictureViews, PatchesStandBlockByBlock) {
  std::string plain = R"("layout": "stretched", "size": [8, 8], "mean": [0, 0, 0],
      "std": [0.003921568627451, 0.003921568627451, 0.003921568627451], "filter": "bilinear",
      "patch_size": 2, "merge": 2)";
  for (bool last : {false, true}) {
    std::string order = last ? "row_column_channel" : "channel_row_column";
    PictureSettings settings = *PictureSettings::Parse(
        *Json::Parse("{" + plain + R"(, "patch_order": ")" + order + R"("})"));
    PictureLayout layout = *LayOutPicture(settings, {8, 8}, PictureDetail::kAuto);
    std::vector<ViewPixels> views = LookAtViews(layout, Numbers(8, 8));
    ASSERT_EQ(views.size(), 1u);
    Patches patches;
    patches.Append(settings, views[0]);
    ASSERT_EQ(patches.count(), 16);
    // the blocks of two patches a side: patch 6 is the first of the lower half of the second block
    EXPECT_EQ(patches.positions[12], 1);
    EXPECT_EQ(patches.positions[13], 2);
    const float* patch = patches.values.data() + 6 * 12;
    std::vector<float> want = last ? std::vector<float>{4, 2, 7, 5, 2, 7, 4, 3, 7, 5, 3, 7}
                                   : std::vector<float>{4, 5, 4, 5, 2, 2, 3, 3, 7, 7, 7, 7};
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(patch[i], want[i], 1e-3) << i;
  }
}

TEST(PictureViews, ASmallViewSpreadsOverTheTableOfPositions) {
  PictureSettings settings = *Parse(R"("layout": "stretched", "size": [8, 8], "columns": 10)");
  Patches patches;
  patches.Append(settings, Numbers(8, 4));
  std::vector<int32_t> rows, columns;
  for (int i = 0; i < patches.count(); ++i) {
    rows.push_back(patches.positions[static_cast<size_t>(2 * i)]);
    columns.push_back(patches.positions[static_cast<size_t>(2 * i + 1)]);
  }
  EXPECT_EQ(rows, (std::vector<int32_t>{0, 0, 5, 5, 0, 0, 5, 5}));
  EXPECT_EQ(columns, (std::vector<int32_t>{0, 2, 0, 2, 5, 7, 5, 7}));
}

}  // namespace
}  // namespace mlc
