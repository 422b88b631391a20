#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/byte_tokenizer.h"
#include "text/stream_decoder.h"

namespace mlc {
namespace {

using Ids = std::vector<int32_t>;

// Byte-level BPE over a few letters, with two added tokens.
constexpr const char* kByteLevel = R"({
  "version": "1.0",
  "added_tokens": [
    {"id": 9, "content": "<|end|>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true},
    {"id": 10, "content": "<sep>", "single_word": false, "lstrip": true, "rstrip": true,
     "normalized": false, "special": false}],
  "normalizer": {"type": "NFC"},
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
  "post_processor": {"type": "TemplateProcessing",
     "single": [{"SpecialToken": {"id": "<|end|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
     "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [9], "tokens": ["<|end|>"]}}},
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ġab": 4, "Ã": 5, "©": 6,
     "abab": 7, "Ċ": 8}, "merges": ["a b", "Ġ ab", "ab ab"]}
})";

// SentencePiece-style: metaspace, unknown and byte tokens.
constexpr const char* kMetaspace = R"({
  "added_tokens": [{"id": 0, "content": "<unk>", "single_word": false, "lstrip": false,
     "rstrip": false, "normalized": false, "special": true}],
  "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
     {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
  "decoder": {"type": "Sequence", "decoders": [
     {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
     {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
  "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
     "vocab": {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3, "<0xC3>": 4, "<0xA9>": 5}, "merges": [["▁", "a"]]}
})";

std::unique_ptr<Tokenizer> Make(const char* json) {
  Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::FromJson(json);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return std::move(tokenizer).value();
}

Ids Encode(const Tokenizer& tokenizer, const std::string& text, bool special = false) {
  Result<Ids> ids = tokenizer.Encode(text, special);
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  return ids.ok() ? *ids : Ids{};
}

TEST(TokenizerTest, EncodesByteLevel) {
  auto tokenizer = Make(kByteLevel);
  EXPECT_EQ(tokenizer->vocab_size(), 11);
  EXPECT_EQ(Encode(*tokenizer, "abab ab\n"), (Ids{7, 4, 8}));
  EXPECT_EQ(Encode(*tokenizer, "e\u0301"), Encode(*tokenizer, "\u00e9"));  // NFC
  EXPECT_EQ(Encode(*tokenizer, "\u00e9"), (Ids{5, 6}));
  EXPECT_EQ(Encode(*tokenizer, "ab  <sep> a<|end|>"), (Ids{2, 10, 0, 9}));
  EXPECT_EQ(Encode(*tokenizer, "a", true), (Ids{9, 0}));
  EXPECT_EQ(Encode(*tokenizer, ""), Ids{});
  EXPECT_EQ(Encode(*tokenizer, "a\xFF"), Ids{0});  // no token for U+FFFD's bytes and no unknown one
}

TEST(TokenizerTest, DecodesByteLevel) {
  auto tokenizer = Make(kByteLevel);
  EXPECT_EQ(tokenizer->Decode({4, 5, 6, 9}, false), " ab\u00e9<|end|>");
  EXPECT_EQ(tokenizer->Decode({4, 5, 6, 9}, true), " ab\u00e9");
  EXPECT_EQ(tokenizer->Decode({5, 0}, false), "\ufffda");
  EXPECT_EQ(tokenizer->Decode({-1, 0, 11, INT32_MAX, INT32_MIN}, false), "a");
}

TEST(TokenizerTest, AnswersForSingleTokens) {
  auto tokenizer = Make(kByteLevel);
  EXPECT_EQ(tokenizer->TokenToId("Ġab"), 4);
  EXPECT_EQ(tokenizer->TokenToId("<sep>"), 10);
  EXPECT_EQ(tokenizer->TokenToId("zz"), std::nullopt);
  EXPECT_EQ(tokenizer->IdToToken(4), "Ġab");
  EXPECT_EQ(tokenizer->IdToToken(-5), "");
  EXPECT_EQ(tokenizer->TokenBytes(4), " ab");
  EXPECT_EQ(tokenizer->TokenBytes(5), "\xC3");
  EXPECT_EQ(tokenizer->TokenBytes(9), "<|end|>");
  EXPECT_TRUE(tokenizer->IsSpecial(9));
  EXPECT_FALSE(tokenizer->IsSpecial(10) || tokenizer->IsSpecial(99));
}

TEST(TokenizerTest, RunsMetaspaceWithBytes) {
  auto tokenizer = Make(kMetaspace);
  EXPECT_EQ(Encode(*tokenizer, "a a\u00e9"), (Ids{3, 3, 4, 5}));
  EXPECT_EQ(Encode(*tokenizer, "zz a"), (Ids{1, 0, 3}));  // fused
  EXPECT_EQ(tokenizer->Decode({3, 3, 4, 5}, false), "a a\u00e9");
  EXPECT_EQ(tokenizer->Decode({3, 4, 4}, false), "a\ufffd\ufffd");
  EXPECT_EQ(tokenizer->TokenBytes(3), " a");  // inside a text the space stays
  EXPECT_EQ(tokenizer->TokenBytes(4), "\xC3");
}

TEST(TokenizerTest, StreamsWholeCodePoints) {
  auto tokenizer = Make(kByteLevel);
  StreamDecoder stream(tokenizer.get(), true);
  EXPECT_EQ(stream.Put(4), " ab");
  EXPECT_EQ(stream.Put(5), "");
  StreamDecoder fork = stream;
  EXPECT_EQ(stream.Put(6), "\u00e9");
  EXPECT_EQ(stream.Put(9), "");
  EXPECT_EQ(stream.Finish(), "");
  EXPECT_EQ(fork.Put(0), "\ufffda");
  EXPECT_EQ(fork.Put(5), "");
  EXPECT_EQ(fork.Finish(), "\ufffd");
  EXPECT_EQ(fork.Put(0), "a");  // as new
}

TEST(TokenizerTest, StreamsWithoutTheFirstSpace) {
  auto tokenizer = Make(kMetaspace);
  StreamDecoder stream(tokenizer.get(), true);
  EXPECT_EQ(stream.Put(3), "a");
  EXPECT_EQ(stream.Put(3), " a");
  EXPECT_EQ(stream.Put(4), "");
  EXPECT_EQ(stream.Put(5), "");  // the run of bytes may still go on
  EXPECT_EQ(stream.Put(2), "\u00e9a");
  EXPECT_EQ(stream.Finish(), "");
}

TEST(TokenizerTest, ServesSeveralThreads) {
  auto tokenizer = Make(kByteLevel);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&tokenizer, t] {
      for (int i = 0; i < 500; ++i) {
        std::string text = std::string(i % 20, 'a') + "b" + std::string(t, 'b');
        EXPECT_EQ(tokenizer->Decode(*tokenizer->Encode(text), false), text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TokenizerTest, NamesWhatIsWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({})", "model"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 1e9}, "merges": []}})", "model.vocab"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 1099511627776}, "merges": []}})", "model.vocab"},
      {R"({"model": {"type": "BPE", "vocab": {}, "merges": ["a b"]}})", "model.merges"},
      {R"({"model": {"type": "Unigram", "vocab": [["a"]]}})", "model.vocab[0]"},
      {R"({"model": {"type": "Unigram", "unk_id": 1, "vocab": [["a", 0]]}})", "model.unk_id"},
      {R"({"model": {"type": "WordLevel", "vocab": {}}})", "model.unk_token"},
  };
  for (const auto& [json, param] : kCases) {
    Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::FromJson(json);
    ASSERT_FALSE(tokenizer.ok()) << json;
    EXPECT_EQ(tokenizer.status().param(), param);
  }
  EXPECT_EQ(Tokenizer::FromJson("{\"a").status().code(), StatusCode::kInvalidArgument);
}

TEST(TokenizerTest, APostProcessorAddsTokensThatThereAre) {
  auto refusal = [](int id) {
    std::string json = kByteLevel;
    const std::string ids = "\"ids\": [9]";
    json.replace(json.find(ids), ids.size(), "\"ids\": [" + std::to_string(id) + "]");
    return Tokenizer::FromJson(json).status();
  };
  EXPECT_TRUE(refusal(10).ok());
  for (int id : {11, 1000000, INT32_MAX}) {
    EXPECT_EQ(refusal(id).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(refusal(id).param(), "post_processor");
    EXPECT_NE(refusal(id).message().find("the id " + std::to_string(id)), std::string::npos);
  }
  const char* bert =
      R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 2}},
      "post_processor": {"type": "BertProcessing", "cls": ["a", 2], "sep": ["b", 1]}})";
  EXPECT_EQ(Tokenizer::FromJson(bert).status().param(), "post_processor") << "an id between others";
}

TEST(TokenizerTest, StopsWhenThereAreTooManyTokens) {
  EncodeOptions options;
  options.max_tokens = 4;
  auto bytes = testing::ByteTokenizer();
  EXPECT_EQ(bytes->Encode("abcd", options)->size(), 4u);
  EXPECT_EQ(bytes->Encode("ab<end>d", options)->size(), 4u);
  for (const std::string& text : {std::string("abcde"), std::string("<end><end><end><end><end>"),
                                  std::string(10'000'000, 'a')}) {
    Result<Ids> ids = bytes->Encode(text, options);
    EXPECT_EQ(ids.status().code(), StatusCode::kResourceExhausted) << text.size();
    EXPECT_TRUE(ids.status().Is(Reason::kTooManyTokens));
  }
  // Where a token may stand for any number of bytes, only the tokens count.
  auto words = Tokenizer::FromJson(R"({"version": "1.0", "added_tokens": [],
      "pre_tokenizer": {"type": "WhitespaceSplit"},
      "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}})");
  ASSERT_TRUE(words.ok()) << words.status().message();
  const std::string word(1'000'000, 'a');
  EXPECT_EQ((*words)->Encode(word + " b  " + word + " c", options)->size(), 4u);
  EXPECT_FALSE((*words)->Encode("a b c d e", options).ok());
}

TEST(TokenizerTest, LeavesGapsBetweenIds) {
  auto tokenizer = Make(R"({"model": {"type": "WordLevel", "unk_token": "?",
      "vocab": {"?": 0, "a": 1000}}})");
  EXPECT_EQ(tokenizer->vocab_size(), 1001);
  EXPECT_EQ(Encode(*tokenizer, "a"), Ids{1000});
  EXPECT_FALSE(tokenizer->HasToken(500));
  EXPECT_EQ(tokenizer->Decode({1000, 500, 0}, true), "a ?");  // no decoder: joined by spaces
}

TEST(TokenizerTest, AnUnknownCharacterWithoutUnknownTokenIsAnError) {
  auto unigram = Make(R"({"model": {"type": "Unigram", "vocab": [["a", -1]]}})");
  EXPECT_EQ(Encode(*unigram, "aa"), (Ids{0, 0}));
  EXPECT_EQ(unigram->Encode("ab").status().code(), StatusCode::kInvalidArgument);
  auto bpe =
      Make(R"({"model": {"type": "BPE", "unk_token": "?", "vocab": {"a": 0}, "merges": []}})");
  EXPECT_EQ(bpe->Encode("ab").status().code(), StatusCode::kInvalidArgument);
}

TEST(TokenizerTest, UnigramTakesTheBestSum) {
  auto tokenizer = Make(R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0],
      ["a", 0], ["b", 0], ["c", 0], ["d", 0], ["cd", 1], ["ab", 2], ["abc", 5], ["abcd", 10]]}})");
  EXPECT_EQ(Encode(*tokenizer, "abcdacdxx"), (Ids{8, 1, 5, 0}));
}

}  // namespace
}  // namespace mlc
