#include "chat/answer/chunk_writer.h"

#include "base/hash.h"
#include "base/rng.h"
#include "base/utf8.h"

namespace mlc {
namespace {

std::vector<int64_t> ByteValues(const std::string& bytes) {
  std::vector<int64_t> values;
  for (unsigned char byte : bytes) values.push_back(byte);
  return values;
}

}  // namespace

ChunkWriter::ChunkWriter(const protocol::ChatCompletionRequest& request, std::string model,
                         std::shared_ptr<const Tokenizer> tokenizer,
                         std::shared_ptr<const AnswerPlan> plan, LastDelta last_delta)
    : head_("chatcmpl-", std::move(model)),
      logprobs_(request.logprobs),
      include_usage_(request.stream_options &&
                     request.stream_options->include_usage.value_or(false)),
      usage_extra_(request.usage_extra.value_or(request.stream && include_usage_)),
      timings_(request.timings_per_token.value_or(false)),
      last_delta_(last_delta),
      tokenizer_(std::move(tokenizer)),
      role_sent_(static_cast<size_t>(request.n), false) {
  head_.FillIn(&completion_);
  for (int64_t i = 0; i < request.n; ++i) {
    if (plan != nullptr) parsers_.emplace_back(plan);
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

std::string ChunkWriter::CallId(int choice, int call) const {
  constexpr char kDigits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr int kLength = 24, kDigitsOfAWord = 8;
  uint64_t key = Fnv1a(head_.id + "/" + std::to_string(choice) + "/" + std::to_string(call));
  std::string id = "call_";
  uint64_t bits = 0;
  for (int i = 0; i < kLength; ++i, bits /= 62) {
    if (i % kDigitsOfAWord == 0) bits = Mix64(key + static_cast<uint64_t>(i));
    id.push_back(kDigits[bits % 62]);
  }
  return id;
}

std::vector<AnswerPart> ChunkWriter::PartsOf(const Delta& delta) {
  if (parsers_.empty()) {
    if (delta.text.empty()) return {};
    return {{AnswerPart::Kind::kContent, delta.text}};
  }
  AnswerParser& parser = parsers_[static_cast<size_t>(delta.choice)];
  std::vector<AnswerPart> parts = parser.Put(delta.text);
  if (!delta.finish) return parts;
  for (AnswerPart& part : parser.Finish()) parts.push_back(std::move(part));
  return parts;
}

wire::OpenEnum<protocol::FinishReason> ChunkWriter::WriteFinish(const Delta& delta) const {
  bool has_calls = !parsers_.empty() && parsers_[static_cast<size_t>(delta.choice)].num_calls() > 0;
  if (has_calls && *delta.finish == FinishReason::kStop) return protocol::FinishReason::kToolCalls;
  return ToProtocol(*delta.finish);
}

protocol::ChatCompletionChunkDelta ChunkWriter::WritePart(int choice,
                                                          const AnswerPart& part) const {
  protocol::ChatCompletionChunkDelta delta;
  if (part.kind == AnswerPart::Kind::kContent) delta.content = part.text;
  if (part.kind == AnswerPart::Kind::kReasoning) delta.reasoning_content = part.text;
  if (part.call < 0) return delta;
  protocol::ChoiceDeltaToolCall call;
  call.index = part.call;
  protocol::ChoiceDeltaFunctionCall& function = call.function.emplace();
  if (part.kind == AnswerPart::Kind::kCall) {
    call.id = CallId(choice, part.call);
    call.type = protocol::ToolType::kFunction;
    function.name = part.text;
  }
  function.arguments = part.kind == AnswerPart::Kind::kCall ? "" : part.text;
  delta.tool_calls.emplace().push_back(std::move(call));
  return delta;
}

// MLC-LLM's programs append the content of the last chunk without a check that it exists.
void ChunkWriter::Finish(const Delta& delta, protocol::ChatCompletionChunkChoice* choice) const {
  choice->finish_reason = WriteFinish(delta);
  if (!delta.stop.empty()) choice->stop_reason = delta.stop;
  if (last_delta_ == LastDelta::kEmptyContent && !choice->delta.content) {
    choice->delta.content = "";
  }
}

std::vector<protocol::ChatCompletionChunkChoice> ChunkWriter::WriteDelta(const Delta& delta) {
  size_t index = static_cast<size_t>(delta.choice);
  std::vector<AnswerPart> parts = PartsOf(delta);
  std::vector<protocol::ChatCompletionChunkChoice> choices;
  auto add = [&](protocol::ChatCompletionChunkDelta part) {
    protocol::ChatCompletionChunkChoice& choice = choices.emplace_back();
    choice.index = delta.choice;
    choice.delta = std::move(part);
  };
  for (const AnswerPart& part : parts) add(WritePart(delta.choice, part));
  bool ends_with_content = !parts.empty() && parts.back().kind == AnswerPart::Kind::kContent;
  bool has_logprobs = logprobs_ && !delta.tokens.empty();
  if (delta.finish ? !ends_with_content : has_logprobs && parts.empty()) add({});
  if (choices.empty()) return choices;
  if (!role_sent_[index]) {
    choices.front().delta.role = protocol::ChatCompletionRole::kAssistant;
    if (parts.empty()) choices.front().delta.content = "";
  }
  role_sent_[index] = true;
  choices.front().logprobs = WriteLogprobs(delta);
  if (delta.finish) Finish(delta, &choices.back());
  return choices;
}

std::vector<protocol::ChatCompletionChunk> ChunkWriter::WriteChunks(const RequestEvent& event) {
  std::vector<protocol::ChatCompletionChunk> chunks;
  if (event.progress) {
    chunks.push_back(NewChunk());
    chunks.back().prompt_progress = ToProtocol(*event.progress);
  }
  for (const Delta& delta : event.deltas) {
    for (protocol::ChatCompletionChunkChoice& choice : WriteDelta(delta)) {
      chunks.push_back(NewChunk());
      chunks.back().choices.push_back(std::move(choice));
    }
  }
  if (event.finished && event.status.ok() && include_usage_) {
    chunks.push_back(NewChunk());
    chunks.back().usage = ToProtocol(event.usage, usage_extra_);
  }
  if (timings_) {
    for (protocol::ChatCompletionChunk& chunk : chunks) chunk.timings = TimingsOf(event.usage);
  }
  return chunks;
}

void ChunkWriter::CollectPart(int choice, const AnswerPart& part) {
  auto& message = completion_.choices[static_cast<size_t>(choice)].message;
  switch (part.kind) {
    case AnswerPart::Kind::kContent:
      *message.content += part.text;
      break;
    case AnswerPart::Kind::kReasoning:
      message.reasoning_content = message.reasoning_content.value_or("") + part.text;
      break;
    case AnswerPart::Kind::kCall:
      if (!message.tool_calls) message.tool_calls.emplace();
      message.tool_calls->push_back({CallId(choice, part.call), {part.text, ""}});
      break;
    case AnswerPart::Kind::kArguments:
      message.tool_calls->back().function.arguments += part.text;
      break;
  }
}

void ChunkWriter::Collect(const RequestEvent& event) {
  for (const Delta& delta : event.deltas) {
    protocol::ChatCompletionChoice& choice = completion_.choices[static_cast<size_t>(delta.choice)];
    for (const AnswerPart& part : PartsOf(delta)) CollectPart(delta.choice, part);
    if (delta.finish) {
      choice.finish_reason = WriteFinish(delta);
      if (!delta.stop.empty()) choice.stop_reason = delta.stop;
      if (choice.message.tool_calls && choice.message.content->empty()) {
        choice.message.content.reset();
      }
    }
    std::optional<protocol::ChoiceLogprobs> logprobs = WriteLogprobs(delta);
    if (!logprobs) continue;
    auto& all = *choice.logprobs->content;
    all.insert(all.end(), logprobs->content->begin(), logprobs->content->end());
  }
  if (!event.finished) return;
  completion_.usage = ToProtocol(event.usage, usage_extra_);
  if (timings_) completion_.timings = TimingsOf(event.usage);
}

protocol::ChatCompletion ChunkWriter::Completion() const { return completion_; }

}  // namespace mlc
