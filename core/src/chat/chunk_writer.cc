#include "chat/chunk_writer.h"

#include "base/utf8.h"

namespace mlc {
namespace {

std::vector<int64_t> ByteValues(const std::string& bytes) {
  std::vector<int64_t> values;
  for (unsigned char byte : bytes) values.push_back(byte);
  return values;
}

}  // namespace

ChunkWriter::ChunkWriter(const protocol::ChatCompletionRequest& request, RequestId id,
                         std::string model, std::shared_ptr<const Tokenizer> tokenizer)
    : head_("chatcmpl-", id, std::move(model)),
      logprobs_(request.logprobs),
      include_usage_(request.stream_options &&
                     request.stream_options->include_usage.value_or(false)),
      usage_extra_(request.usage_extra.value_or(false)),
      tokenizer_(std::move(tokenizer)),
      role_sent_(static_cast<size_t>(request.n), false) {
  head_.FillIn(&completion_);
  for (int64_t i = 0; i < request.n; ++i) {
    protocol::ChatCompletionChoice choice;
    choice.index = i;
    choice.message.content = "";
    if (logprobs_) choice.logprobs.emplace().content.emplace();
    completion_.choices.push_back(std::move(choice));
  }
}

protocol::ChatCompletionChunk ChunkWriter::NewChunk() const {
  protocol::ChatCompletionChunk chunk;
  head_.FillIn(&chunk);
  return chunk;
}

std::optional<protocol::ChoiceLogprobs> ChunkWriter::WriteLogprobs(const Delta& delta) const {
  if (!logprobs_ || delta.tokens.empty()) return std::nullopt;
  protocol::ChoiceLogprobs out;
  out.content.emplace();
  for (const GeneratedToken& token : delta.tokens) {
    protocol::ChatCompletionTokenLogprob entry;
    const std::string& bytes = tokenizer_->TokenBytes(token.id);
    entry.token = RepairUtf8(bytes);
    entry.bytes = ByteValues(bytes);
    entry.logprob = token.logprobs ? token.logprobs->chosen : 0;
    for (const auto& [id, logprob] :
         token.logprobs ? token.logprobs->top : decltype(token.logprobs->top)()) {
      const std::string& top_bytes = tokenizer_->TokenBytes(id);
      entry.top_logprobs.push_back({RepairUtf8(top_bytes), logprob, ByteValues(top_bytes)});
    }
    out.content->push_back(std::move(entry));
  }
  return out;
}

protocol::ChatCompletionChunkChoice ChunkWriter::WriteDelta(const Delta& delta) {
  protocol::ChatCompletionChunkChoice choice;
  choice.index = delta.choice;
  size_t index = static_cast<size_t>(delta.choice);
  if (!role_sent_[index]) choice.delta.role = protocol::ChatCompletionRole::kAssistant;
  if (!role_sent_[index] || !delta.text.empty()) choice.delta.content = delta.text;
  role_sent_[index] = true;
  choice.logprobs = WriteLogprobs(delta);
  if (delta.finish) choice.finish_reason = ToProtocol(*delta.finish);
  return choice;
}

std::vector<protocol::ChatCompletionChunk> ChunkWriter::WriteChunks(const RequestEvent& event) {
  std::vector<protocol::ChatCompletionChunk> chunks;
  for (const Delta& delta : event.deltas) {
    bool has_logprobs = logprobs_ && !delta.tokens.empty();
    if (delta.text.empty() && !delta.finish && !has_logprobs) continue;
    chunks.push_back(NewChunk());
    chunks.back().choices.push_back(WriteDelta(delta));
  }
  if (event.finished && event.status.ok() && include_usage_) {
    chunks.push_back(NewChunk());
    chunks.back().usage = ToProtocol(event.usage, usage_extra_);
  }
  return chunks;
}

void ChunkWriter::Collect(const RequestEvent& event) {
  for (const Delta& delta : event.deltas) {
    protocol::ChatCompletionChoice& choice = completion_.choices[static_cast<size_t>(delta.choice)];
    *choice.message.content += delta.text;
    if (delta.finish) choice.finish_reason = ToProtocol(*delta.finish);
    std::optional<protocol::ChoiceLogprobs> logprobs = WriteLogprobs(delta);
    if (!logprobs) continue;
    auto& all = *choice.logprobs->content;
    all.insert(all.end(), logprobs->content->begin(), logprobs->content->end());
  }
  if (event.finished) completion_.usage = ToProtocol(event.usage, usage_extra_);
}

protocol::ChatCompletion ChunkWriter::Completion() const { return completion_; }

}  // namespace mlc
