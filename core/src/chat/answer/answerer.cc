#include "chat/answer/answerer.h"

#include <cstdio>
#include <utility>

#include "chat/answer/completion_writer.h"
#include "chat/answer/embedding_writer.h"
#include "chat/answer/rerank_writer.h"
#include "chat/protocol/error_json.h"

namespace mlc {
namespace {

template <typename Request>
bool WantsUsage(const Request& request) {
  return request.stream_options && request.stream_options->include_usage.value_or(false);
}

using Warnings = std::vector<protocol::SchemaWarning>;

Warnings ToProtocol(const std::vector<SchemaWarning>& warnings) {
  Warnings out;
  for (const SchemaWarning& warning : warnings) {
    out.push_back({warning.param, warning.path, warning.message});
  }
  return out;
}

template <typename Answer>
std::string DumpWhole(Answer answer, const Warnings& warnings) {
  if (!warnings.empty()) answer.warnings = warnings;
  return answer.ToJson().Dump();
}

// As in OpenAI's streams, `usage` is null in all chunks before the one that contains it. The very
// first chunk contains the warnings.
template <typename Chunk>
std::vector<std::string> Dump(std::vector<Chunk> chunks, bool with_usage, Warnings* warnings) {
  if (!chunks.empty() && !warnings->empty()) {
    chunks.front().warnings = std::exchange(*warnings, {});
  }
  std::vector<std::string> texts;
  for (const Chunk& chunk : chunks) {
    Json json = chunk.ToJson();
    if (with_usage && !chunk.usage) json.Set("usage", Json());
    texts.push_back(json.Dump());
  }
  return texts;
}

class ChatAnswerer : public Answerer {
 public:
  ChatAnswerer(const protocol::ChatCompletionRequest& request, ChunkWriter writer,
               Warnings warnings, ChatCallback callback)
      : Answerer(request.stream, std::move(callback)),
        writer_(std::move(writer)),
        with_usage_(WantsUsage(request)),
        warnings_(std::move(warnings)) {}

 private:
  std::vector<std::string> Chunks(size_t, const RequestEvent& event) override {
    complete_ = event.finished;
    return Dump(writer_.WriteChunks(event), with_usage_, &warnings_);
  }
  void Collect(size_t, const RequestEvent& event) override {
    complete_ = event.finished;
    writer_.Collect(event);
  }
  std::string Whole() const override { return DumpWhole(writer_.Completion(), warnings_); }
  bool complete() const override { return complete_; }

  ChunkWriter writer_;
  bool with_usage_, complete_ = false;
  Warnings warnings_;
};

class CompletionAnswerer : public Answerer {
 public:
  CompletionAnswerer(const protocol::CompletionRequest& request, CompletionWriter writer,
                     Warnings warnings, ChatCallback callback)
      : Answerer(request.stream, std::move(callback)),
        writer_(std::move(writer)),
        with_usage_(WantsUsage(request)),
        warnings_(std::move(warnings)) {}

 private:
  std::vector<std::string> Chunks(size_t prompt, const RequestEvent& event) override {
    return Dump(writer_.WriteChunks(prompt, event), with_usage_, &warnings_);
  }
  void Collect(size_t prompt, const RequestEvent& event) override {
    writer_.Collect(prompt, event);
  }
  std::string Whole() const override { return DumpWhole(writer_.Whole(), warnings_); }
  bool complete() const override { return writer_.finished(); }

  CompletionWriter writer_;
  bool with_usage_;
  Warnings warnings_;
};

// An answer that is never streamed: the writer collects the vectors of all texts.
template <typename Writer>
class WholeAnswerer : public Answerer {
 public:
  WholeAnswerer(Writer writer, ChatCallback callback)
      : Answerer(/*stream=*/false, std::move(callback)), writer_(std::move(writer)) {}

 private:
  std::vector<std::string> Chunks(size_t, const RequestEvent&) override { return {}; }
  void Collect(size_t text, const RequestEvent& event) override { writer_.Collect(text, event); }
  std::string Whole() const override { return writer_.Whole().ToJson().Dump(); }
  bool complete() const override { return writer_.finished(); }

  Writer writer_;
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
    // An exception of the caller must not end its process or lose the following events.
    std::fputs("mlc_llm: a callback threw an exception; it was ignored\n", stderr);
  }
}

std::unique_ptr<Answerer> AnswerChat(const protocol::ChatCompletionRequest& request,
                                     AnswerOptions options, ChatCallback callback) {
  ChunkWriter writer(request, std::move(options.model), std::move(options.tokenizer),
                     std::move(options.plan), options.last_delta);
  return std::make_unique<ChatAnswerer>(request, std::move(writer), ToProtocol(options.warnings),
                                        std::move(callback));
}

std::unique_ptr<Answerer> AnswerCompletion(const protocol::CompletionRequest& request,
                                           std::vector<std::string> echoes, AnswerOptions options,
                                           ChatCallback callback) {
  CompletionWriter writer(request, std::move(echoes), std::move(options.model),
                          std::move(options.tokenizer));
  return std::make_unique<CompletionAnswerer>(request, std::move(writer),
                                              ToProtocol(options.warnings), std::move(callback));
}

std::unique_ptr<Answerer> AnswerEmbedding(const protocol::EmbeddingRequest& request,
                                          size_t num_texts, std::string model, bool normalize,
                                          ChatCallback callback) {
  EmbeddingWriter writer(request, num_texts, std::move(model), normalize);
  return std::make_unique<WholeAnswerer<EmbeddingWriter>>(std::move(writer), std::move(callback));
}

std::unique_ptr<Answerer> AnswerRerank(const protocol::RerankRequest& request, std::string model,
                                       ChatCallback callback) {
  RerankWriter writer(request, std::move(model));
  return std::make_unique<WholeAnswerer<RerankWriter>>(std::move(writer), std::move(callback));
}

}  // namespace mlc
