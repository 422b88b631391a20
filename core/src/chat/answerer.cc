#include "chat/answerer.h"

#include <cstdio>

#include "chat/chunk_writer.h"
#include "chat/completion_writer.h"
#include "chat/embedding_writer.h"
#include "chat/error_json.h"

namespace mlc {
namespace {

template <typename Chunk>
std::vector<std::string> Dump(const std::vector<Chunk>& chunks) {
  std::vector<std::string> texts;
  for (const Chunk& chunk : chunks) texts.push_back(chunk.ToJson().Dump());
  return texts;
}

class ChatAnswerer : public Answerer {
 public:
  ChatAnswerer(bool stream, ChunkWriter writer, ChatCallback callback)
      : Answerer(stream, std::move(callback)), writer_(std::move(writer)) {}

 private:
  std::vector<std::string> Chunks(size_t, const RequestEvent& event) override {
    complete_ = event.finished;
    return Dump(writer_.WriteChunks(event));
  }
  void Collect(size_t, const RequestEvent& event) override {
    complete_ = event.finished;
    writer_.Collect(event);
  }
  std::string Whole() const override { return writer_.Completion().ToJson().Dump(); }
  bool complete() const override { return complete_; }

  ChunkWriter writer_;
  bool complete_ = false;
};

class CompletionAnswerer : public Answerer {
 public:
  CompletionAnswerer(bool stream, CompletionWriter writer, ChatCallback callback)
      : Answerer(stream, std::move(callback)), writer_(std::move(writer)) {}

 private:
  std::vector<std::string> Chunks(size_t prompt, const RequestEvent& event) override {
    return Dump(writer_.WriteChunks(prompt, event));
  }
  void Collect(size_t prompt, const RequestEvent& event) override {
    writer_.Collect(prompt, event);
  }
  std::string Whole() const override { return writer_.Whole().ToJson().Dump(); }
  bool complete() const override { return writer_.finished(); }

  CompletionWriter writer_;
};

class EmbeddingAnswerer : public Answerer {
 public:
  EmbeddingAnswerer(EmbeddingWriter writer, ChatCallback callback)
      : Answerer(/*stream=*/false, std::move(callback)), writer_(std::move(writer)) {}

 private:
  std::vector<std::string> Chunks(size_t, const RequestEvent&) override { return {}; }
  void Collect(size_t text, const RequestEvent& event) override { writer_.Collect(text, event); }
  std::string Whole() const override { return writer_.Whole().ToJson().Dump(); }
  bool complete() const override { return writer_.finished(); }

  EmbeddingWriter writer_;
};

}  // namespace

void Answerer::Take(size_t prompt, const RequestEvent& event) {
  if (ended_) return;
  if (!event.status.ok()) {
    ended_ = true;
    return Deliver(ChatEventKind::kError, ErrorJson(event.status).Dump());
  }
  if (stream_) {
    for (const std::string& chunk : Chunks(prompt, event)) Deliver(ChatEventKind::kChunk, chunk);
  } else {
    Collect(prompt, event);
  }
  if (!complete()) return;
  ended_ = true;
  stream_ ? Deliver(ChatEventKind::kDone, "") : Deliver(ChatEventKind::kResult, Whole());
}

void Answerer::Deliver(ChatEventKind kind, const std::string& json) {
  try {
    callback_(kind, json);
  } catch (...) {
    // A caller's mistake must neither end its process nor lose the events that are to come.
    std::fputs("mlc_llm: a callback threw an exception; it was ignored\n", stderr);
  }
}

std::unique_ptr<Answerer> AnswerChat(const protocol::ChatCompletionRequest& request,
                                     AnswerOptions options, ChatCallback callback) {
  ChunkWriter writer(request, options.id, std::move(options.model), std::move(options.tokenizer),
                     std::move(options.plan));
  return std::make_unique<ChatAnswerer>(request.stream, std::move(writer), std::move(callback));
}

std::unique_ptr<Answerer> AnswerCompletion(const protocol::CompletionRequest& request,
                                           std::vector<std::string> echoes, AnswerOptions options,
                                           ChatCallback callback) {
  CompletionWriter writer(request, std::move(echoes), options.id, std::move(options.model),
                          std::move(options.tokenizer));
  return std::make_unique<CompletionAnswerer>(request.stream, std::move(writer),
                                              std::move(callback));
}

std::unique_ptr<Answerer> AnswerEmbedding(const protocol::EmbeddingRequest& request,
                                          size_t num_texts, std::string model,
                                          ChatCallback callback) {
  EmbeddingWriter writer(request, num_texts, std::move(model));
  return std::make_unique<EmbeddingAnswerer>(std::move(writer), std::move(callback));
}

}  // namespace mlc
