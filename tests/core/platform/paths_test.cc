#include "platform/paths.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(Paths, AreUtf8BothWays) {
  for (const char* text : {"", "a/b.bin", "/Modèle/模型", "\xf0\x9f\xa6\x99"}) {
    EXPECT_EQ(TextOf(PathOf(text)), text);
  }
}

TEST(Paths, TheLastPart) {
  EXPECT_EQ(LastPartOf("dist/SmolLM2-MLC/"), "SmolLM2-MLC");
  EXPECT_EQ(LastPartOf("dist//SmolLM2-MLC//"), "SmolLM2-MLC");
  EXPECT_EQ(LastPartOf("SmolLM2-MLC"), "SmolLM2-MLC");
  EXPECT_EQ(LastPartOf(""), "");
#if defined(_WIN32)
  EXPECT_EQ(LastPartOf("C:\\models\\SmolLM2-MLC\\"), "SmolLM2-MLC");
  EXPECT_EQ(TextOf(PathOf("C:\\a/b")), "C:/a/b");
#else
  EXPECT_EQ(LastPartOf("a\\b"), "a\\b");  // a name
#endif
}

}  // namespace
}  // namespace mlc
