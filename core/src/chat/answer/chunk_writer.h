// Turns the engine's events into OpenAI's chat answers: chunks when streaming, one completion
// otherwise.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chat/answer/answer_parts.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/tools/answer_parser.h"
#include "engine/request.h"
#include "text/tokenizer.h"

namespace mlc {

// The content of the last chunk when there is no text left: an empty text (as in MLC-LLM), or no
// member (as in OpenAI's API).
enum class LastDelta { kEmptyContent, kNothing };

// One answer. Not thread-safe.
class ChunkWriter {
 public:
  // `model` is the model's name in the answer. `plan` describes tool calls and thoughts; null: the
  // text is the content.
  ChunkWriter(const protocol::ChatCompletionRequest& request, std::string model,
              std::shared_ptr<const Tokenizer> tokenizer,
              std::shared_ptr<const AnswerPlan> plan = nullptr,
              LastDelta last_delta = LastDelta::kEmptyContent);

  // The chunks for an event; none while text is held back. The last event of a successful request
  // adds the usage chunk if the request asked for it.
  std::vector<protocol::ChatCompletionChunk> WriteChunks(const RequestEvent& event);

  // Collects an event. After the last event, Completion() is the whole answer.
  void Collect(const RequestEvent& event);
  protocol::ChatCompletion Completion() const;

 private:
  protocol::ChatCompletionChunk NewChunk() const;
  // The parts of a delta's text. The end of the delta is the end of the text.
  std::vector<AnswerPart> PartsOf(const Delta& delta);
  std::vector<protocol::ChatCompletionChunkChoice> WriteDelta(const Delta& delta);
  protocol::ChatCompletionChunkDelta WritePart(int choice, const AnswerPart& part) const;
  void CollectPart(int choice, const AnswerPart& part);
  void Finish(const Delta& delta, protocol::ChatCompletionChunkChoice* choice) const;
  wire::OpenEnum<protocol::FinishReason> WriteFinish(const Delta& delta) const;
  // Is the same in all chunks and in the whole answer.
  std::string CallId(int choice, int call) const;
  std::optional<protocol::ChoiceLogprobs> WriteLogprobs(const Delta& delta) const;

  AnswerHead head_;
  bool logprobs_, include_usage_, usage_extra_, timings_;
  LastDelta last_delta_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<bool> role_sent_;          // by choice
  std::vector<AnswerParser> parsers_;    // by choice; empty if the text is the content
  protocol::ChatCompletion completion_;  // the collected answer
};

}  // namespace mlc
