// The common members of all OpenAI answers: id, time, usage and finish reason.
#pragma once

#include <string>

#include "chat/protocol/protocol.gen.h"
#include "engine/request.h"

namespace mlc {

struct AnswerHead {
  // The id is "chatcmpl-" or another `prefix`, then 16 hexadecimal digits that are unique across
  // engines and processes. The time is the current time.
  AnswerHead(const std::string& prefix, std::string model_name);

  std::string id, model;
  int64_t created;  // seconds since 1970

  template <typename Answer>
  void FillIn(Answer* answer) const {
    answer->id = id;
    answer->created = created;
    answer->model = model;
  }
};

wire::OpenEnum<protocol::FinishReason> ToProtocol(FinishReason reason);

// `with_extra`: adds MLC-LLM's measurements as `usage.extra`.
protocol::CompletionUsage ToProtocol(const Usage& usage, bool with_extra);

// Where the time went, under llama.cpp's names.
protocol::Timings TimingsOf(const Usage& usage);
protocol::PromptProgress ToProtocol(const PromptProgress& progress);

}  // namespace mlc
