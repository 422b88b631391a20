// A tokenizer.json out of nowhere, and a text for it. Input: the JSON, byte 0, the text.
#include "base/utf8.h"
#include "fuzz.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace mlc {
namespace {

constexpr char kSample[] = "Hello, w\u00f6rld! <end> 12345 \u4f60\u597d \t\r\n \U0001f600 don't";

void CheckIds(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  for (int32_t id : ids) MLC_FUZZ_CHECK(tokenizer.HasToken(id));
}

void CheckDecode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool skip_special) {
  std::string whole = tokenizer.Decode(ids, skip_special);
  MLC_FUZZ_CHECK(IsValidUtf8(whole));
  StreamDecoder stream(&tokenizer, skip_special);
  std::string streamed;
  for (int32_t id : ids) streamed += stream.Put(id);
  streamed += stream.Finish();
  MLC_FUZZ_CHECK(streamed == whole);
}

void CheckText(const Tokenizer& tokenizer, std::string_view text) {
  for (bool special : {false, true}) {
    Result<std::vector<int32_t>> ids = tokenizer.Encode(text, special);
    if (!ids.ok()) continue;
    CheckIds(tokenizer, *ids);
    CheckDecode(tokenizer, *ids, !special);
  }
}

MLC_FUZZ_TARGET(tokenizer) {
  fuzz::Halves input = fuzz::SplitAtZero(data);
  Result<std::unique_ptr<Tokenizer>> made = Tokenizer::FromJson(input.first);
  if (!made.ok()) {
    MLC_FUZZ_CHECK(!made.status().message().empty());
    return;
  }
  const Tokenizer& tokenizer = **made;
  CheckText(tokenizer, kSample);
  CheckText(tokenizer, input.second);
  // Ids that no text leads to, and ids of no token.
  int32_t size = tokenizer.vocab_size();
  CheckDecode(tokenizer, {size - 1, 0, size / 2, size, -1, size - 1}, true);
}

}  // namespace
}  // namespace mlc
