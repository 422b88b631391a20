#include "model/tower.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "support/tiny_pictures.h"

namespace mlc {
namespace {

const std::string kCat = *DecodeBase64(testing::kTinyPictures[0].base64);

TEST(FakeTower, APlanFollowsFromTheSize) {
  FakeTower tower(4);
  PicturePlan tall = *tower.Plan({10, 150}, PictureDetail::kAuto);
  EXPECT_EQ(tall.num_rows, 3 * FakeTower::kRows);
  EXPECT_EQ(tall.pieces.size(), 5u);
  EXPECT_EQ(tall.pieces[1].text, "\n");
  EXPECT_EQ(tower.Plan({10, 150}, PictureDetail::kLow)->pieces.size(), 1u);
  EXPECT_EQ(tower.Plan({30000, 30000}, PictureDetail::kAuto)->num_rows, 16 * FakeTower::kRows);
}

TEST(FakeTower, TheMakerGivesTheRowsOfThePlan) {
  FakeTower tower(4);
  auto maker = tower.Encode(kCat, PictureDetail::kAuto);
  ASSERT_TRUE(maker.ok());
  LateRows rows(PictureKey(kCat, PictureDetail::kAuto, tower), FakeTower::kRows, 4,
                *std::move(maker));
  ASSERT_TRUE(rows.Advance().ok());
  EXPECT_TRUE(rows.is_ready());
  EXPECT_TRUE(tower.Encode("cat", PictureDetail::kAuto).status().Is(Reason::kImageParseError));
}

TEST(PictureKey, SaysBytesDetailAndTower) {
  FakeTower tower(4);
  ContentHash key = PictureKey("cat", PictureDetail::kAuto, tower);
  EXPECT_EQ(PictureKey("cat", PictureDetail::kAuto, tower), key);
  EXPECT_NE(PictureKey("dog", PictureDetail::kAuto, tower), key);
  EXPECT_NE(PictureKey("cat", PictureDetail::kLow, tower), key);
}

}  // namespace
}  // namespace mlc
