// From the engine's events to OpenAI's text completions: the same object whole and in chunks.
#ifndef MLC_CHAT_ANSWER_COMPLETION_WRITER_H_
#define MLC_CHAT_ANSWER_COMPLETION_WRITER_H_

#include <memory>
#include <string>
#include <vector>

#include "chat/answer/answer_parts.h"
#include "chat/protocol/protocol.gen.h"
#include "engine/request.h"
#include "text/tokenizer.h"

namespace mlc {

// One answer to one or several prompts. Choice c of prompt p is the answer's choice p * n + c. Not
// for two threads at once.
class CompletionWriter {
 public:
  // `echoes`: by prompt, the text that its answers begin with.
  CompletionWriter(const protocol::CompletionRequest& request, std::vector<std::string> echoes,
                   RequestId id, std::string model, std::shared_ptr<const Tokenizer> tokenizer);

  // The chunks that an event of a prompt's makes. After the last event of the last prompt comes the
  // usage chunk, when it was asked for.
  std::vector<protocol::Completion> WriteChunks(size_t prompt, const RequestEvent& event);

  // Collects an event; the whole answer is Whole() once every prompt has finished.
  void Collect(size_t prompt, const RequestEvent& event);
  const protocol::Completion& Whole() const { return whole_; }

  bool finished() const { return num_unfinished_ == 0; }

 private:
  protocol::CompletionChoice WriteDelta(size_t prompt, const Delta& delta);
  std::optional<protocol::CompletionLogprobs> WriteLogprobs(size_t choice, const Delta& delta);
  void AddToken(size_t choice, const GeneratedToken& token, protocol::CompletionLogprobs* out);
  // Code points by which a token moves the place in the text.
  int64_t LengthInText(size_t choice, const GeneratedToken& token) const;
  void TakePrompt(size_t prompt, const RequestEvent& event);
  void CountUsage(const RequestEvent& event);

  AnswerHead head_;
  size_t n_, num_unfinished_;
  std::optional<int64_t> logprobs_;
  bool include_usage_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<std::string> echoes_;                         // by prompt
  std::vector<std::string> unsent_echo_;                    // by choice; "" once it is sent
  std::vector<std::vector<GeneratedToken>> unsent_prompt_;  // likewise, where they have logprobs
  std::vector<int64_t> text_length_;  // by choice, in code points, as the tokens tell it
  Usage usage_;                       // of the prompts that have finished
  protocol::Completion whole_;
};

}  // namespace mlc

#endif  // MLC_CHAT_ANSWER_COMPLETION_WRITER_H_
