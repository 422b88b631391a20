#include "model/model.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(ModelInfo, SizesAndTheWindowComeFromTheLayers) {
  constexpr LayerKind kAttention = LayerKind::kAttention, kRecurrent = LayerKind::kRecurrent;
  struct Case {
    const char* what;
    std::vector<LayerState> layers;
    int64_t page_bytes, state_bytes;
    int window;
  };
  const Case cases[] = {
      {"alike", {{kAttention, 8, 0}, {kAttention, 8, 0}}, 16, 0, -1},
      {"all slide", {{kAttention, 8, 16}, {kAttention, 8, 64}}, 16, 0, 64},
      {"some slide", {{kAttention, 8, 16}, {kAttention, 4, 0}, {kAttention, 8, 16}}, 20, 0, -1},
      {"latent", {{LayerKind::kLatent, 6, 0}, {LayerKind::kStateless, 0, 0}}, 6, 0, -1},
      {"hybrid", {{kRecurrent, 100, 0}, {kRecurrent, 50, 0}, {kAttention, 8, 0}}, 8, 150, -1},
      {"hybrid that slides", {{kRecurrent, 100, 0}, {kAttention, 8, 32}}, 8, 100, 32},
      {"recurrent alone", {{kRecurrent, 100, 0}}, 0, 100, -1},
      {"an encoder", {{LayerKind::kStateless, 0, 0}}, 0, 0, -1},
  };
  for (const Case& c : cases) {
    ModelInfo info;
    info.SetLayers(c.layers);
    EXPECT_EQ(info.page_bytes, c.page_bytes) << c.what;
    EXPECT_EQ(info.state_bytes, c.state_bytes) << c.what;
    EXPECT_EQ(info.sliding_window_size, c.window) << c.what;
  }
}

TEST(ModelInfo, LayersWithAWindowMayHaveTheirOwnPages) {
  constexpr LayerKind kAttention = LayerKind::kAttention;
  const std::vector<LayerState> mixed = {
      {kAttention, 8, 16}, {kAttention, 4, 0}, {kAttention, 8, 64}, {kAttention, 2, 32}};
  ModelInfo info;
  info.SetLayers(mixed, /*two_tables=*/true);
  EXPECT_EQ(info.PageBytes(), (std::vector<int64_t>{4, 18}));
  EXPECT_EQ(info.layer_window, 64);
  EXPECT_EQ(info.sliding_window_size, -1);
  info.SetLayers({{kAttention, 8, 16}, {kAttention, 8, 64}}, /*two_tables=*/true);
  EXPECT_EQ(info.PageBytes(), (std::vector<int64_t>{16}));
  EXPECT_EQ(info.sliding_window_size, 64) << "all slide: one table";
  info.SetLayers(mixed);
  EXPECT_EQ(info.PageBytes(), (std::vector<int64_t>{22})) << "an older library";
}

TEST(ModelInfo, TheBytesOfAllShards) {
  ModelInfo info;
  info.page_bytes = 2, info.logit_row_bytes = 3, info.decode_row_bytes = 5;
  ASSERT_TRUE(info.SetShards(4));
  EXPECT_EQ(info.page_bytes, 8);
  EXPECT_EQ(info.logit_row_bytes, 12);
  EXPECT_EQ(info.decode_row_bytes, 20);
  info.weight_bytes = INT64_MAX / 2;
  EXPECT_FALSE(info.SetShards(3));
}

}  // namespace
}  // namespace mlc
