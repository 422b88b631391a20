// What a caller asks of the engine, and the engine's events.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/adapters.h"
#include "engine/thinking.h"
#include "grammar/grammar.h"
#include "model/model_config.h"
#include "model/prompt.h"
#include "sampling/logit_processor.h"
#include "sampling/logits.h"
#include "sampling/sampler_cpu.h"

namespace mlc {

using RequestId = uint64_t;
using Clock = std::chrono::steady_clock;

inline double SecondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

enum class FinishReason { kStop, kLength };

struct Request {
  RequestId id = 0;
  Prompt prompt;                     // at least one row
  std::vector<int32_t> token_types;  // of the prompt's rows (model.h); empty: all have type 0
  // KeyOf(adapters): only requests with the same adapters and scales share prefixes
  uint64_t adapter = 0;
  AdapterUses adapters;
  SamplingParams sampling;       // choice i uses the random stream of seed + i
  int n = 1;                     // number of choices
  int max_tokens = -1;           // for each choice; -1: up to the context limit; 0: none
  bool prompt_logprobs = false;  // also return `sampling.logprobs` for the prompt's tokens
  std::vector<std::string> stop_strings;
  std::vector<int32_t> stop_token_ids;
  std::optional<Grammar> grammar;     // the answer must follow it
  std::vector<int32_t> prediction;    // a text that the answer probably resembles; may be empty
  std::vector<int32_t> shown_tokens;  // special tokens whose text is kept in the answer's text
  std::optional<Thinking> thinking;
  std::optional<Pooling> pooling;  // a vector of the prompt is wanted instead of an answer
  std::shared_ptr<const LogitProcessor> logit_processor;  // null: none
  bool ignore_eos = false;        // stop tokens are tokens like others; for benchmarks
  bool pin_prompt = false;        // the prompt's pages are not evicted until the cache is reset
  bool reports_progress = false;  // of reading the prompt, by events
  bool jump_forward = true;       // text that the grammar forces may be computed ahead
  int priority = 0;               // higher first (scheduler.h)
  Clock::time_point received = Clock::now();
  std::optional<std::chrono::milliseconds> timeout;  // from `received` on; then kDeadlineExceeded

  std::optional<Clock::time_point> deadline() const {
    if (!timeout) return std::nullopt;
    return received + *timeout;
  }
};

// How many tokens prompt and answer may have together, and what would allow more.
struct LengthLimit {
  int tokens = 0;      // 0: not known yet
  std::string advice;  // a sentence; empty: nothing would
};

// The error for a prompt of `count` ("5000 tokens") that exceeds the limit.
Status PromptTooLong(const LengthLimit& limit, const std::string& count, const char* param);

// The errors for a request to a model of another kind: one that wants vectors from a reranker, or
// scores from another model.
Status CheckMakesVectors(const ModelInfo& model);
Status CheckReranks(const ModelInfo& model);
// The error for a request that an encoder cannot answer, because it wants text.
Status CheckWritesText(const ModelInfo& model);

struct GeneratedToken {
  int32_t id = 0;
  std::optional<TokenLogprobs> logprobs;
};

// The tokens and text that one step added to one choice.
struct Delta {
  int choice = 0;
  std::string text;                    // whole code points; it is never taken back
  std::vector<GeneratedToken> tokens;  // without stop tokens
  std::optional<FinishReason> finish;
  std::string stop;  // the stop string that ended it; empty: none did
};

// What drafts did for something.
struct DraftGain {
  int64_t drafted = 0, accepted = 0;  // tokens
  // Of its steps: what they took with drafting, and what their tokens would have taken without.
  double seconds = 0, plain_seconds = 0;

  void Add(const DraftGain& other);
  // How many times as fast it was, if steps without drafts were measured too.
  std::optional<double> times() const {
    return seconds > 0 ? std::optional<double>(plain_seconds / seconds) : std::nullopt;
  }
};

struct Usage {
  int prompt_tokens = 0;
  int completion_tokens = 0;  // of all choices, with stop tokens
  int cached_tokens = 0;
  int reasoning_tokens = 0;  // of `completion_tokens`; 0 for a model without thoughts
  // tokens of the request's prediction that were drafted: accepted ones, and the others; set if the
  // request has a prediction
  std::optional<int> accepted_prediction_tokens, rejected_prediction_tokens;
  DraftGain drafts;
  double ttft_s = 0;        // from the request's arrival to its first token
  double prefill_s = 0;     // from its first row to its first token
  double decode_s = 0;      // from its first token to its last
  double end_to_end_s = 0;  // from the request's arrival to its end

  // How much of the prompt the model read, and how fast.
  int prefill_tokens() const { return prompt_tokens - cached_tokens; }
  double prefill_tokens_per_s() const;
  double seconds_per_prefill_token() const;
  // The tokens that were generated one by one: all but the first.
  int decode_tokens() const { return std::max(0, completion_tokens - 1); }
  double decode_tokens_per_s() const;
  double seconds_per_decode_token() const;
};

// How much of a prompt was read, in tokens.
struct PromptProgress {
  int total = 0, cached = 0;
  int processed = 0;   // with `cached`
  double seconds = 0;  // since its first row
};

// The events of one request come in order. The last one has `finished`.
struct RequestEvent {
  RequestId id = 0;
  std::vector<Delta> deltas;
  // With `prompt_logprobs`: all tokens of the prompt, once, before the first delta. The first token
  // has no log probability.
  std::vector<GeneratedToken> prompt;
  bool finished = false;
  Status status;                           // the error, if the request failed
  Usage usage;                             // up to this event
  std::optional<PromptProgress> progress;  // set in events that report nothing else
  // [hidden_size], or [head_size] if the model has a head; set when finished, if the request has
  // `pooling`
  std::vector<double> embedding;
};

}  // namespace mlc
