#include "text/decoder.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace mlc {
namespace {

// The pieces that leave the decoder as each token enters, and last what Finish lets out.
std::vector<std::string> Pieces(const std::string& decoder,
                                const std::vector<std::string>& tokens) {
  Result<Json> json = Json::Parse("{\"decoder\": " + decoder + "}");
  EXPECT_TRUE(json.ok()) << decoder;
  Result<DecodeChain> chain = DecodeChain::FromJson(JsonView(*json));
  EXPECT_TRUE(chain.ok()) << chain.status().message();
  std::vector<std::string> out;
  for (const std::string& token : tokens) {
    chain->PutToken(token);
    out.push_back(chain->Take());
  }
  chain->Finish();
  out.push_back(chain->Take());
  return out;
}

using Strings = std::vector<std::string>;

TEST(DecoderTest, JoinsBySpacesWithoutADecoder) {
  EXPECT_EQ(Pieces("null", {"a", "b"}), (Strings{"a", " b", ""}));
}

TEST(DecoderTest, MetaspaceDropsOnlyInTheFirstToken) {
  EXPECT_EQ(Pieces(R"({"type": "Metaspace", "replacement": "▁"})", {"▁a▁b", "▁c"}),
            (Strings{"ab", " c", ""}));
  EXPECT_EQ(
      Pieces(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"})", {"▁a"}),
      (Strings{" a", ""}));
}

TEST(DecoderTest, WordPieceJoinsContinuations) {
  std::string decoder = R"({"type": "WordPiece", "prefix": "##", "cleanup": true})";
  EXPECT_EQ(Pieces(decoder, {"do", "not", "##e", "!", "##"}),
            (Strings{"do", " not", "e", "!", "", ""}));
}

TEST(DecoderTest, BpeDecoderHoldsOneTokenBack) {
  EXPECT_EQ(Pieces(R"({"type": "BPEDecoder", "suffix": "</w>"})", {"a", "b</w>", "c</w>"}),
            (Strings{"", "a", "b ", "c"}));
  EXPECT_EQ(Pieces(R"({"type": "BPEDecoder", "suffix": "</w>"})", {}), Strings{""});
}

TEST(DecoderTest, ByteFallbackIsAllOrNothingInARun) {
  std::string decoder = R"({"type": "ByteFallback"})";
  EXPECT_EQ(Pieces(decoder, {"<0xC3>", "<0xA9>", "a"}), (Strings{"", "", "\u00e9a", ""}));
  EXPECT_EQ(Pieces(decoder, {"<0x61>", "<0xFF>"}), (Strings{"", "", "\ufffd\ufffd"}));
  EXPECT_EQ(Pieces(decoder, {"<0xZZ>", "<0x0A"}), (Strings{"<0xZZ>", "<0x0A", ""}));
}

TEST(DecoderTest, StripCutsBothEndsOfEachToken) {
  std::string decoder = R"({"type": "Strip", "content": "_", "start": 1, "stop": 2})";
  EXPECT_EQ(Pieces(decoder, {"__a___", "b"}), (Strings{"_a_", "b", ""}));
}

TEST(DecoderTest, StripAfterFuseStillStreams) {
  std::string decoder = R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 1}]})";
  EXPECT_EQ(Pieces(decoder, {" ", " a ", "b", " ", " "}), (Strings{"", " a", " b", "", " ", ""}));
}

TEST(DecoderTest, ReplacesByTextAndByPattern) {
  EXPECT_EQ(Pieces(R"({"type": "Replace", "pattern": {"Regex": "a+"}, "content": "x"})", {"baab"}),
            (Strings{"bxb", ""}));
  EXPECT_EQ(Pieces(R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "})", {"▁a▁"}),
            (Strings{" a ", ""}));
}

TEST(DecoderTest, ACopyIsAStreamOfItsOwn) {
  DecodeChain chain;
  Json json = Json::MakeObject();
  Result<DecodeChain> made = DecodeChain::FromJson(JsonView(json));
  ASSERT_TRUE(made.ok());
  chain = *made;
  chain.PutToken("a");
  DecodeChain copy = chain;
  copy.PutToken("b");
  EXPECT_EQ(copy.Take(), "a b");
  EXPECT_EQ(chain.Take(), "a");
}

TEST(DecoderTest, RefusesWhatItDoesNotKnow) {
  for (const char* text : {R"({"decoder": {"type": "CTC"}})", R"({"decoder": 5})",
                           R"({"decoder": {"type": "Sequence", "decoders": [{}]}})",
                           R"({"decoder": {"type": "Strip", "content": "ab"}})"}) {
    Json json = *Json::Parse(text);
    Result<DecodeChain> chain = DecodeChain::FromJson(JsonView(json));
    ASSERT_FALSE(chain.ok()) << text;
    EXPECT_NE(chain.status().param().find("decoder"), std::string::npos);
  }
}

}  // namespace
}  // namespace mlc
