#include "base/content_hash.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(ContentHash, OfTheStandardsExamples) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1000000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const auto& [bytes, text] : cases) EXPECT_EQ(ContentHashText(HashContent(bytes)), text);
}

TEST(ContentHash, ItsTextIsReadBack) {
  ContentHash hash = HashContent("a picture");
  EXPECT_EQ(ParseContentHash(ContentHashText(hash)), hash);
  std::string text = ContentHashText(hash);
  for (std::string bad : {text.substr(1), text + "0", std::string(64, 'g'), std::string(64, '\0'),
                          std::string(64, 'A')}) {
    EXPECT_FALSE(ParseContentHash(bad)) << bad;
  }
}

}  // namespace
}  // namespace mlc
