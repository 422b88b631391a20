// Stop strings in streamed text, against a naive search: the same text before the same hit, however
// the text is cut into pieces.
//
// Input: stop strings, each ended by byte 0xFF; 0xFF; pieces of text, each ended by byte 0xFE.
#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "fuzz.h"
#include "support/byte_tokenizer.h"
#include "text/stop_matcher.h"
#include "text/stream_decoder.h"

namespace mlc {
namespace {

std::vector<std::string> Split(std::string_view text, char end) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == end) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

struct Case {
  std::vector<std::string> stops, pieces;
  std::string Text() const {
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    return text;
  }
};

Case ParseCase(std::string_view data) {
  Case out;
  size_t begin = 0;
  while (begin < data.size() && out.stops.size() < 16) {
    size_t end = std::min(data.find('\xFF', begin), data.size());
    std::string stop(data.substr(begin, end - begin));
    begin = end + 1;
    if (stop.empty()) break;
    out.stops.push_back(std::move(stop));
  }
  out.pieces = Split(data.substr(std::min(begin, data.size())), '\xFE');
  return out;
}

struct Naive {
  std::string text;  // before the stop string
  int index = -1;
};

// The hit that is complete first; of those complete at the same byte the longest.
Naive Search(const Case& input) {
  std::string text = input.Text();
  for (size_t end = 1; end <= text.size(); ++end) {
    int best = -1;
    for (size_t i = 0; i < input.stops.size(); ++i) {
      const std::string& stop = input.stops[i];
      if (stop.size() > end || text.compare(end - stop.size(), stop.size(), stop) != 0) continue;
      if (best < 0 || stop.size() > input.stops[best].size()) best = static_cast<int>(i);
    }
    if (best >= 0) return {text.substr(0, end - input.stops[best].size()), best};
  }
  return {text, -1};
}

// What must still be held back of `seen`: its longest suffix that begins a stop string.
size_t MustHold(const std::string& seen, const std::vector<std::string>& stops) {
  for (size_t length = seen.size(); length > 0; --length) {
    for (const std::string& stop : stops) {
      if (length < stop.size() && seen.compare(seen.size() - length, length, stop, 0, length) == 0)
        return length;
    }
  }
  return 0;
}

void CheckMatcher(const Case& input) {
  Naive expected = Search(input);
  StopMatcher matcher(input.stops);
  std::string out, seen;
  int index = -1;
  for (const std::string& piece : input.pieces) {
    StopMatcher copy = matcher;  // copies are independent
    (void)copy.Put("copied");
    StopMatcher::Out put = matcher.Put(piece);
    out += put.text;
    seen += piece;
    index = put.index;
    MLC_FUZZ_CHECK(put.stopped == (put.index >= 0));
    if (put.stopped) break;
    MLC_FUZZ_CHECK(out.size() == seen.size() - MustHold(seen, input.stops));
  }
  if (index < 0) out += matcher.Finish();
  MLC_FUZZ_CHECK(out == expected.text);
  MLC_FUZZ_CHECK(index == expected.index);
}

// The text as bytes that are tokens, one at a time: pieces of valid UTF-8 that make up the whole.
void CheckDecoder(const std::string& text) {
  std::shared_ptr<const Tokenizer> tokenizer = testing::ByteTokenizer();
  StreamDecoder stream(tokenizer.get(), true);
  std::string streamed;
  for (int32_t id : testing::Bytes(text)) {
    std::string piece = stream.Put(id);
    MLC_FUZZ_CHECK(IsValidUtf8(piece));
    streamed += piece;
  }
  streamed += stream.Finish();
  MLC_FUZZ_CHECK(streamed == tokenizer->Decode(testing::Bytes(text), true));
  if (IsValidUtf8(text)) MLC_FUZZ_CHECK(streamed == text);
}

MLC_FUZZ_TARGET(stop_matcher) {
  if (data.size() > 2048) return;  // the naive search is cubic
  Case input = ParseCase(data);
  CheckMatcher(input);
  CheckDecoder(input.Text());
}

}  // namespace
}  // namespace mlc
