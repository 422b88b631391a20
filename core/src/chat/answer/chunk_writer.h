// From the engine's events to OpenAI's answers: chunks while streaming, one completion otherwise.
#ifndef MLC_CHAT_ANSWER_CHUNK_WRITER_H_
#define MLC_CHAT_ANSWER_CHUNK_WRITER_H_

#include <memory>
#include <string>
#include <vector>

#include "chat/answer/answer_parts.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/tools/answer_parser.h"
#include "engine/request.h"
#include "text/tokenizer.h"

namespace mlc {

// What the last chunk of an answer adds when there is no text left: an empty text, as MLC-LLM's has
// it, or no member at all, as OpenAI's has it.
enum class LastDelta { kEmptyContent, kNothing };

// One answer. Not for two threads at once.
class ChunkWriter {
 public:
  // `model` is the name that the answer carries. `plan`: of calls and thoughts; null: the text is
  // the content.
  ChunkWriter(const protocol::ChatCompletionRequest& request, RequestId id, std::string model,
              std::shared_ptr<const Tokenizer> tokenizer,
              std::shared_ptr<const AnswerPlan> plan = nullptr,
              LastDelta last_delta = LastDelta::kEmptyContent);

  // The chunks that an event makes; none while text is held back. The last event of a successful
  // request adds the usage chunk when it was asked for.
  std::vector<protocol::ChatCompletionChunk> WriteChunks(const RequestEvent& event);

  // Collects an event; the whole answer is Completion() once the event is the last.
  void Collect(const RequestEvent& event);
  protocol::ChatCompletion Completion() const;

 private:
  protocol::ChatCompletionChunk NewChunk() const;
  // What a delta's text consists of; its end is the text's end.
  std::vector<AnswerPart> PartsOf(const Delta& delta);
  std::vector<protocol::ChatCompletionChunkChoice> WriteDelta(const Delta& delta);
  protocol::ChatCompletionChunkDelta WritePart(int choice, const AnswerPart& part) const;
  void CollectPart(int choice, const AnswerPart& part);
  void Finish(const Delta& delta, protocol::ChatCompletionChunkChoice* choice) const;
  wire::OpenEnum<protocol::FinishReason> WriteFinish(const Delta& delta) const;
  // The same in all chunks and in the whole answer.
  std::string CallId(int choice, int call) const;
  std::optional<protocol::ChoiceLogprobs> WriteLogprobs(const Delta& delta) const;

  AnswerHead head_;
  bool logprobs_, include_usage_, usage_extra_;
  LastDelta last_delta_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<bool> role_sent_;          // by choice
  std::vector<AnswerParser> parsers_;    // by choice; none where the text is the content
  protocol::ChatCompletion completion_;  // what was collected
};

}  // namespace mlc

#endif  // MLC_CHAT_ANSWER_CHUNK_WRITER_H_
