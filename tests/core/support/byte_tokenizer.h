// A tokenizer of 258 tokens: id 0 .. 255 is the byte of that value, 256 is "<end>" and 257 is
// "<start>", both special.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "text/tokenizer.h"

namespace mlc::testing {

constexpr int kByteVocab = 258;
constexpr int32_t kEnd = 256;

// GPT-2's writing of a byte as a character: printable ones stand for themselves, the others get
// characters from U+0100 on.
inline std::string ByteCharacter(int byte) {
  auto is_printable = [](int b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  };
  int code = byte;
  if (!is_printable(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += is_printable(b) ? 0 : 1;
  }
  std::string text;
  AppendUtf8(static_cast<char32_t>(code), &text);
  return text;
}

// `longer`: texts that are tokens, too, from id 258 on.
inline std::string ByteTokenizerJson(const std::vector<std::string>& longer = {}) {
  std::string members;  // as text: Json::Set looks through all that it has
  auto add = [&members](const std::string& name, int id) {
    members += (members.empty() ? "" : ",") + Json(name).Dump() + ":" + std::to_string(id);
  };
  for (int byte = 0; byte < 256; ++byte) add(ByteCharacter(byte), byte);
  int next = kByteVocab;
  if (!longer.empty()) {  // no gap in the ids
    add("<end>", kEnd);
    add("<start>", kEnd + 1);
  }
  for (const std::string& text : longer) {
    std::string name;
    for (char byte : text) name += ByteCharacter(static_cast<unsigned char>(byte));
    add(name, next++);
  }
  Json vocab = *Json::Parse("{" + members + "}");
  Json added = Json::MakeArray();
  for (const char* content : {"<end>", "<start>"}) {
    int id = 256 + static_cast<int>(added.as_array().size());
    added.Append(Json()
                     .Set("id", id)
                     .Set("content", content)
                     .Set("single_word", false)
                     .Set("lstrip", false)
                     .Set("rstrip", false)
                     .Set("normalized", false)
                     .Set("special", true));
  }
  auto byte_level = [] {
    return Json()
        .Set("type", "ByteLevel")
        .Set("add_prefix_space", false)
        .Set("trim_offsets", true)
        .Set("use_regex", false);
  };
  Json model =
      Json().Set("type", "BPE").Set("vocab", std::move(vocab)).Set("merges", Json::MakeArray());
  return Json()
      .Set("version", "1.0")
      .Set("added_tokens", std::move(added))
      .Set("normalizer", Json())
      .Set("pre_tokenizer", byte_level())
      .Set("post_processor", Json())
      .Set("decoder", byte_level())
      .Set("model", std::move(model))
      .Dump();
}

// Made once: tests share it.
inline std::shared_ptr<const Tokenizer> ByteTokenizer() {
  static const std::shared_ptr<const Tokenizer> tokenizer = [] {
    Result<std::unique_ptr<Tokenizer>> made = Tokenizer::FromJson(ByteTokenizerJson());
    if (!made.ok()) std::fprintf(stderr, "byte tokenizer: %s\n", made.status().message().c_str());
    MLC_ICHECK(made.ok());
    return std::shared_ptr<const Tokenizer>(std::move(made).value());
  }();
  return tokenizer;
}

inline std::vector<int32_t> Bytes(std::string_view text) {
  return std::vector<int32_t>(reinterpret_cast<const unsigned char*>(text.data()),
                              reinterpret_cast<const unsigned char*>(text.data()) + text.size());
}

}  // namespace mlc::testing
