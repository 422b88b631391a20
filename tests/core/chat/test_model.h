// A model for tests of the chat layer: a byte tokenizer, a template that shows the last message
// alone, and a script for the answers.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/json.h"
#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "model/fake_model.h"
#include "support/byte_tokenizer.h"

namespace mlc::testing {

inline ModelInfo ChatInfo() {
  ModelInfo info = FakeModel::SmallInfo();
  info.vocab_size = kByteVocab;
  info.context_window_size = 512;
  info.prefill_chunk_size = 64;
  info.max_batch_size = 8;
  return info;
}

inline ModelBundle ChatBundle(const std::string& chat_template = "{{ messages[-1].content }}") {
  ModelBundle bundle;
  bundle.config.vocab_size = kByteVocab;
  bundle.tokenizer = ByteTokenizer();
  bundle.stop_token_ids = {kEnd};
  Result<ChatTemplate> parsed = ChatTemplate::Parse(chat_template, "", "");
  MLC_ICHECK(parsed.ok());
  bundle.chat_template = std::make_unique<const ChatTemplate>(std::move(parsed).value());
  return bundle;
}

// A request whose last message is "Hi" and which has `members` besides (JSON text).
inline std::string HiJson(const std::string& members = "") {
  return R"({"messages": [{"role": "user", "content": "Hi"}])" +
         (members.empty() ? "" : ", " + members) + "}";
}

inline protocol::ChatCompletionRequest ParseRequest(const std::string& text) {
  Result<Json> json = Json::Parse(text);
  MLC_ICHECK(json.ok());
  Result<protocol::ChatCompletionRequest> request = protocol::ChatCompletionRequest::Parse(*json);
  if (!request.ok()) std::fprintf(stderr, "%s\n", request.status().message().c_str());
  MLC_ICHECK(request.ok());
  return std::move(request).value();
}

}  // namespace mlc::testing
