// One choice of one request, on its way through the engine.
#ifndef MLC_ENGINE_SEQUENCE_H_
#define MLC_ENGINE_SEQUENCE_H_

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "engine/request.h"
#include "grammar/grammar.h"
#include "kv/kv_cache.h"
#include "text/stop_matcher.h"
#include "text/stream_decoder.h"

namespace mlc {

using Clock = std::chrono::steady_clock;

// What the choices of a request share.
struct RequestState {
  explicit RequestState(Request r) : request(std::move(r)), stops(request.stop_strings) {}
  Request request;
  StopMatcher stops;          // as new; each choice has a copy, which shares its tables
  int num_unfinished = 0;     // choices
  std::vector<Delta> deltas;  // of the step at hand
  int completion_tokens = 0;
  Clock::time_point submitted = Clock::now();
  std::optional<Clock::time_point> first_row, first_token;
};

class Sequence {
 public:
  Sequence(SequenceId id, int choice, std::shared_ptr<RequestState> request,
           const Tokenizer* tokenizer);

  const SequenceId id;
  const int choice;
  const std::shared_ptr<RequestState> request;

  const std::vector<int32_t>& tokens() const { return tokens_; }  // prompt, then generated
  int num_tokens() const { return static_cast<int>(tokens_.size()); }
  int num_prompt_tokens() const { return num_prompt_tokens_; }
  int num_generated() const { return num_tokens() - num_prompt_tokens_; }
  const TokenCounts& counts() const { return counts_; }
  int num_computed = 0;  // tokens whose keys and values are in the cache

  // Makes impossible what the grammar does not allow next. `logits` [vocab_size].
  Status MaskByGrammar(float* logits, int vocab_size);
  // The number that chooses the next token; the same after a preemption.
  double NextUniform() const;
  // Takes a sampled token: appends it, or ends the choice. `max_length` bounds prompt and answer
  // together. Adds to the request's deltas.
  void Accept(GeneratedToken token, int max_length);
  bool finished() const { return finish_.has_value(); }

 private:
  bool IsStopToken(int32_t token) const;
  bool AtLimit(int max_length) const;
  Delta& CurrentDelta();
  void Finish(FinishReason reason, Delta* delta);

  std::vector<int32_t> tokens_;
  int num_prompt_tokens_;
  TokenCounts counts_;
  StreamDecoder decoder_;
  StopMatcher stops_;
  std::optional<GrammarMatcher> grammar_;
  std::optional<FinishReason> finish_;
};

}  // namespace mlc

#endif  // MLC_ENGINE_SEQUENCE_H_
