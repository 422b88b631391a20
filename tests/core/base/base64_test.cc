#include "base/base64.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

// The RFC's own examples, and digits beyond the letters.
TEST(Base64, Encodes) {
  const std::pair<std::string, const char*> cases[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {std::string("\xff\xef\xfe\0", 4), "/+/+AA=="},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(EncodeBase64(bytes), text);
    EXPECT_EQ(DecodeBase64(text), bytes);
  }
}

TEST(Base64, DecodesNothingElse) {
  EXPECT_EQ(DecodeBase64("Zm9vYg"), "foob") << "padding may be left out";
  for (const char* bad :
       {"Z", "Zg=", "Zg===", "Zm9v====", "Zm9vY", "Z*==", "Zm 9", "Zh==", "=", "Zg==Zg=="}) {
    EXPECT_FALSE(DecodeBase64(bad)) << bad;
  }
}

}  // namespace
}  // namespace mlc
