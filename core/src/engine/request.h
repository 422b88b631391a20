// What the engine is asked for and what it answers.
#ifndef MLC_ENGINE_REQUEST_H_
#define MLC_ENGINE_REQUEST_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/thinking.h"
#include "grammar/grammar.h"
#include "model/model_config.h"
#include "model/prompt.h"
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
  Prompt prompt;                 // at least one row
  uint64_t adapter = 0;          // of the weights; prefixes are shared within one
  SamplingParams sampling;       // choice i samples from stream seed + i
  int n = 1;                     // choices
  int max_tokens = -1;           // of each choice; -1: as far as the context reaches; 0: none
  bool prompt_logprobs = false;  // `sampling.logprobs` of the prompt's tokens are wanted, too
  std::vector<std::string> stop_strings;
  std::vector<int32_t> stop_token_ids;
  std::optional<Grammar> grammar;     // that the answer must follow
  std::vector<int32_t> shown_tokens;  // special tokens whose text is part of the answer's text
  std::optional<Thinking> thinking;
  std::optional<Pooling> pooling;  // a vector of the prompt is wanted instead of an answer
  bool ignore_eos = false;         // stop tokens are tokens like others; for benchmarks
  bool pin_prompt = false;         // the prompt's pages are not evicted until the cache is reset
  bool jump_forward = true;        // text that the grammar forces may be computed ahead
  int priority = 0;                // higher first (scheduler.h)
  Clock::time_point received = Clock::now();
  std::optional<std::chrono::milliseconds> timeout;  // after `received`: kDeadlineExceeded

  std::optional<Clock::time_point> deadline() const {
    if (!timeout) return std::nullopt;
    return received + *timeout;
  }
};

// A prompt of `count` ("5000 tokens") that `max_length` tokens, prompt and answer, do not hold.
Status PromptTooLong(int max_length, const std::string& count, const char* param);

struct GeneratedToken {
  int32_t id = 0;
  std::optional<TokenLogprobs> logprobs;
};

// What one step added to one choice.
struct Delta {
  int choice = 0;
  std::string text;                    // never taken back, whole code points
  std::vector<GeneratedToken> tokens;  // stop tokens are left out
  std::optional<FinishReason> finish;
};

struct Usage {
  int prompt_tokens = 0;
  int completion_tokens = 0;  // all choices, stop tokens included
  int cached_tokens = 0;
  int reasoning_tokens = 0;  // of the completion's, where thoughts are looked for
  double ttft_s = 0;         // from the request to its first token
  double prefill_s = 0;      // from its first row to its first token
  double decode_s = 0;       // from its first token to its last
  double end_to_end_s = 0;   // from the request to its end
};

// Events of a request come in order; the last has `finished`.
struct RequestEvent {
  RequestId id = 0;
  std::vector<Delta> deltas;
  // With `prompt_logprobs`, once, before the first delta: all tokens of the prompt. The first one
  // has no log probability.
  std::vector<GeneratedToken> prompt;
  bool finished = false;
  Status status;                  // why it failed, when it did
  Usage usage;                    // once finished
  std::vector<double> embedding;  // [hidden_size], once finished, when `pooling` asked for it
};

}  // namespace mlc

#endif  // MLC_ENGINE_REQUEST_H_
