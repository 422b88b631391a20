// Delivers an answer to its caller: chunks when streaming, one whole answer otherwise, or one
// error.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "chat/answer/chunk_writer.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/tools/answer_parser.h"
#include "engine/request.h"
#include "text/tokenizer.h"

namespace mlc {

enum class ChatEventKind { kChunk = 0, kResult = 1, kDone = 2, kError = 3 };

// Called in order. The last event is exactly one kResult, kDone or kError.
using ChatCallback = std::function<void(ChatEventKind kind, const std::string& json)>;

// One answer. It may use several engine requests, one for each prompt. Not thread-safe.
class Answerer {
 public:
  virtual ~Answerer() = default;
  // Takes the next event of a prompt's request. After the first failed event the others are
  // ignored, because the answer has ended with that error. Exceptions from the callback are
  // ignored, and the answer continues.
  void Take(size_t prompt, const RequestEvent& event);
  bool ended() const { return ended_; }

 protected:
  Answerer(bool stream, ChatCallback callback) : stream_(stream), callback_(std::move(callback)) {}
  virtual std::vector<std::string> Chunks(size_t prompt, const RequestEvent& event) = 0;
  virtual void Collect(size_t prompt, const RequestEvent& event) = 0;
  virtual std::string Whole() const = 0;
  // Whether the last event of every prompt was taken.
  virtual bool complete() const = 0;

 private:
  void Deliver(ChatEventKind kind, const std::string& json);

  bool stream_, ended_ = false;
  ChatCallback callback_;
};

struct AnswerOptions {
  std::string model;  // the model's name in the answer
  std::shared_ptr<const Tokenizer> tokenizer;
  // for a chat's answer; null: its text is its content
  std::shared_ptr<const AnswerPlan> plan = nullptr;
  LastDelta last_delta = LastDelta::kEmptyContent;
  std::vector<SchemaWarning> warnings = {};  // about the request's schemas
};

std::unique_ptr<Answerer> AnswerChat(const protocol::ChatCompletionRequest& request,
                                     AnswerOptions options, ChatCallback callback);

// `echoes`: for each prompt, the text with which its answers begin.
std::unique_ptr<Answerer> AnswerCompletion(const protocol::CompletionRequest& request,
                                           std::vector<std::string> echoes, AnswerOptions options,
                                           ChatCallback callback);

// `normalize`: whether vectors are scaled to length 1.
std::unique_ptr<Answerer> AnswerEmbedding(const protocol::EmbeddingRequest& request,
                                          size_t num_texts, std::string model, bool normalize,
                                          ChatCallback callback);

std::unique_ptr<Answerer> AnswerRerank(const protocol::RerankRequest& request, std::string model,
                                       ChatCallback callback);

}  // namespace mlc
