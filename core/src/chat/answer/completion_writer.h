// Turns the engine's events into OpenAI's text completions: the same object, whole or in chunks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chat/answer/answer_parts.h"
#include "chat/protocol/protocol.gen.h"
#include "engine/request.h"
#include "text/tokenizer.h"

namespace mlc {

// One answer to one or several prompts. Choice c of prompt p is the answer's choice p * n + c. Not
// thread-safe.
class CompletionWriter {
 public:
  // `echoes`: for each prompt, the text with which its answers begin.
  CompletionWriter(const protocol::CompletionRequest& request, std::vector<std::string> echoes,
                   std::string model, std::shared_ptr<const Tokenizer> tokenizer);

  // The chunks for an event of one prompt. After the last event of the last prompt comes the usage
  // chunk, if the request asked for it.
  std::vector<protocol::Completion> WriteChunks(size_t prompt, const RequestEvent& event);

  // Collects an event. When every prompt has finished, Whole() is the whole answer.
  void Collect(size_t prompt, const RequestEvent& event);
  const protocol::Completion& Whole() const { return whole_; }

  bool finished() const { return num_unfinished_ == 0; }

 private:
  protocol::CompletionChoice WriteDelta(size_t prompt, const Delta& delta);
  std::optional<protocol::CompletionLogprobs> WriteLogprobs(size_t choice, const Delta& delta);
  void AddToken(size_t choice, const GeneratedToken& token, protocol::CompletionLogprobs* out);
  // How many code points the token adds to the text.
  int64_t LengthInText(size_t choice, const GeneratedToken& token) const;
  void TakePrompt(size_t prompt, const RequestEvent& event);
  void CountUsage(size_t prompt, const RequestEvent& event);
  Usage TotalUsage() const;

  AnswerHead head_;
  size_t n_, num_unfinished_;
  std::optional<int64_t> logprobs_;
  bool include_usage_, timings_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<std::string> echoes_;                         // by prompt
  std::vector<std::string> unsent_echo_;                    // by choice; "" when it was sent
  std::vector<std::vector<GeneratedToken>> unsent_prompt_;  // by choice, if the prompt has logprobs
  std::vector<int64_t> text_length_;  // by choice, in code points; the sum over the tokens
  std::vector<Usage> usages_;         // by prompt, up to its last event
  protocol::Completion whole_;
};

}  // namespace mlc
