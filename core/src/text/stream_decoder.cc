// Decode and StreamDecoder run the same chain of stages (text/decoder.h), so their texts are equal.
// Text is held back only while it is not decided: the first bytes of a code point; a run of byte
// tokens ("<0xE2>") until it ends; a token that a suffix rule may still change; and, behind a Fuse
// decoder, all text for which a Replace with a longer pattern waits.
#include "text/stream_decoder.h"

#include <algorithm>
#include <utility>

#include "text/decoder.h"

namespace mlc {

struct StreamDecoder::State {
  const Tokenizer* tokenizer;
  bool skip_special_tokens;
  std::vector<int32_t> shown;
  DecodeChain chain;

  bool Skips(int32_t id) const {
    return skip_special_tokens && tokenizer->IsSpecial(id) &&
           std::find(shown.begin(), shown.end(), id) == shown.end();
  }
};

StreamDecoder::StreamDecoder(const Tokenizer* tokenizer, bool skip_special_tokens,
                             std::vector<int32_t> shown)
    : state_(
          new State{tokenizer, skip_special_tokens, std::move(shown), tokenizer->decode_chain()}) {}
StreamDecoder::StreamDecoder(const StreamDecoder& other) : state_(new State(*other.state_)) {}
StreamDecoder& StreamDecoder::operator=(const StreamDecoder& other) {
  if (this != &other) state_ = std::make_unique<State>(*other.state_);
  return *this;
}
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

std::string StreamDecoder::Put(int32_t id) {
  const Tokenizer& tokenizer = *state_->tokenizer;
  if (!tokenizer.HasToken(id) || state_->Skips(id)) return "";
  state_->chain.PutToken(tokenizer.IdToToken(id));
  return state_->chain.Take();
}

std::string StreamDecoder::Finish() {
  state_->chain.Finish();
  std::string text = state_->chain.Take();
  state_->chain = state_->tokenizer->decode_chain();
  return text;
}

}  // namespace mlc
