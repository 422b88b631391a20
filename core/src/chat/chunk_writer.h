// From the engine's events to OpenAI's answers: chunks while streaming, one completion otherwise.
#ifndef MLC_CHAT_CHUNK_WRITER_H_
#define MLC_CHAT_CHUNK_WRITER_H_

#include <memory>
#include <string>
#include <vector>

#include "chat/answer_parts.h"
#include "chat/protocol.gen.h"
#include "engine/request.h"
#include "text/tokenizer.h"

namespace mlc {

// One answer. Not for two threads at once.
class ChunkWriter {
 public:
  // `model` is the name that the answer carries.
  ChunkWriter(const protocol::ChatCompletionRequest& request, RequestId id, std::string model,
              std::shared_ptr<const Tokenizer> tokenizer);

  // The chunks that an event makes; none while text is held back. The last event of a successful
  // request adds the usage chunk when it was asked for.
  std::vector<protocol::ChatCompletionChunk> WriteChunks(const RequestEvent& event);

  // Collects an event; the whole answer is Completion() once the event is the last.
  void Collect(const RequestEvent& event);
  protocol::ChatCompletion Completion() const;

 private:
  protocol::ChatCompletionChunk NewChunk() const;
  protocol::ChatCompletionChunkChoice WriteDelta(const Delta& delta);
  std::optional<protocol::ChoiceLogprobs> WriteLogprobs(const Delta& delta) const;

  AnswerHead head_;
  bool logprobs_, include_usage_, usage_extra_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<bool> role_sent_;          // by choice
  protocol::ChatCompletion completion_;  // what was collected
};

}  // namespace mlc

#endif  // MLC_CHAT_CHUNK_WRITER_H_
