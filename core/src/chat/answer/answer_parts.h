// What every kind of OpenAI answer carries: its id and time, the usage, why it ended.
#ifndef MLC_CHAT_ANSWER_ANSWER_PARTS_H_
#define MLC_CHAT_ANSWER_ANSWER_PARTS_H_

#include <string>

#include "chat/protocol/protocol.gen.h"
#include "engine/request.h"

namespace mlc {

struct AnswerHead {
  // "chatcmpl-" or another `prefix`, then 16 hexadecimal digits that are unique across engines and
  // processes. The time is now.
  AnswerHead(const std::string& prefix, RequestId request, std::string model_name);

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

// `with_extra`: MLC-LLM's measurements in `usage.extra`.
protocol::CompletionUsage ToProtocol(const Usage& usage, bool with_extra);

}  // namespace mlc

#endif  // MLC_CHAT_ANSWER_ANSWER_PARTS_H_
