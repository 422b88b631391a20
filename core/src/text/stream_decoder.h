// Turns token ids into text, one by one, for streaming.
//
// The pieces are valid UTF-8 and are never taken back. Together they equal Tokenizer::Decode(all
// ids). If the bytes of a code point are in several tokens, it comes out with its last byte.
//
//   StreamDecoder stream(&tokenizer, /*skip_special_tokens=*/true);
//   for (int32_t id : ids) Send(stream.Put(id));
//   Send(stream.Finish());
//
// Copies are independent (a forked sequence copies its decoder). Amortized O(1) for each token with
// all common decoders; stream_decoder.cc lists the exceptions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace mlc {

class StreamDecoder {
 public:
  // The tokenizer must outlive the decoder and its copies. `shown`: special tokens that are not
  // skipped.
  StreamDecoder(const Tokenizer* tokenizer, bool skip_special_tokens,
                std::vector<int32_t> shown = {});
  StreamDecoder(const StreamDecoder& other);
  StreamDecoder& operator=(const StreamDecoder& other);
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();

  std::string Put(int32_t id);
  // The text that was held back. The decoder is then in its initial state.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mlc
