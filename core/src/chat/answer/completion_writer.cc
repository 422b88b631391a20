#include "chat/answer/completion_writer.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace mlc {
namespace {

template <typename T>
void Extend(std::optional<std::vector<T>>* all, const std::optional<std::vector<T>>& more) {
  if (more) (*all)->insert((*all)->end(), more->begin(), more->end());
}

protocol::CompletionLogprobs NoLogprobs() {
  protocol::CompletionLogprobs logprobs;
  logprobs.tokens.emplace();
  logprobs.token_logprobs.emplace();
  logprobs.top_logprobs.emplace();
  logprobs.text_offset.emplace();
  return logprobs;
}

int64_t CodePoints(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace

CompletionWriter::CompletionWriter(const protocol::CompletionRequest& request,
                                   std::vector<std::string> echoes, std::string model,
                                   std::shared_ptr<const Tokenizer> tokenizer)
    : head_("cmpl-", std::move(model)),
      n_(static_cast<size_t>(request.n)),
      num_unfinished_(echoes.size()),
      logprobs_(request.logprobs),
      include_usage_(request.stream_options &&
                     request.stream_options->include_usage.value_or(false)),
      timings_(request.timings_per_token.value_or(false)),
      tokenizer_(std::move(tokenizer)),
      echoes_(std::move(echoes)),
      unsent_prompt_(echoes_.size() * n_),
      text_length_(echoes_.size() * n_, 0),
      usages_(echoes_.size()) {
  head_.FillIn(&whole_);
  for (size_t i = 0; i < text_length_.size(); ++i) {
    unsent_echo_.push_back(echoes_[i / n_]);
    protocol::CompletionChoice choice;
    choice.index = static_cast<int64_t>(i);
    if (logprobs_) choice.logprobs = NoLogprobs();
    whole_.choices.push_back(std::move(choice));
  }
}

std::optional<protocol::CompletionLogprobs> CompletionWriter::WriteLogprobs(size_t choice,
                                                                            const Delta& delta) {
  std::vector<GeneratedToken> prompt = std::exchange(unsent_prompt_[choice], {});
  if (!logprobs_ || (prompt.empty() && delta.tokens.empty())) return std::nullopt;
  protocol::CompletionLogprobs out = NoLogprobs();
  for (const GeneratedToken& token : prompt) AddToken(choice, token, &out);
  for (const GeneratedToken& token : delta.tokens) AddToken(choice, token, &out);
  return out;
}

// The first token of a prompt has no log probability. Its logprob is written as 0, without likelier
// tokens.
void CompletionWriter::AddToken(size_t choice, const GeneratedToken& token,
                                protocol::CompletionLogprobs* out) {
  out->tokens->push_back(RepairUtf8(tokenizer_->TokenBytes(token.id)));
  out->token_logprobs->push_back(token.logprobs ? token.logprobs->chosen : 0);
  std::map<std::string, double>& top = out->top_logprobs->emplace_back();
  if (token.logprobs) {
    for (const auto& [id, logprob] : token.logprobs->top) {
      top.emplace(RepairUtf8(tokenizer_->TokenBytes(id)), logprob);
    }
  }
  out->text_offset->push_back(text_length_[choice]);
  text_length_[choice] += LengthInText(choice, token);
}

// A special token before the text, such as <s>, is not part of the text.
int64_t CompletionWriter::LengthInText(size_t choice, const GeneratedToken& token) const {
  const std::string& bytes = tokenizer_->TokenBytes(token.id);
  bool is_before_text = text_length_[choice] == 0 && tokenizer_->IsSpecial(token.id) &&
                        echoes_[choice / n_].compare(0, bytes.size(), bytes) != 0;
  return is_before_text ? 0 : CodePoints(bytes);
}

protocol::CompletionChoice CompletionWriter::WriteDelta(size_t prompt, const Delta& delta) {
  size_t index = prompt * n_ + static_cast<size_t>(delta.choice);
  protocol::CompletionChoice choice;
  choice.index = static_cast<int64_t>(index);
  choice.text = std::exchange(unsent_echo_[index], "") + delta.text;
  choice.logprobs = WriteLogprobs(index, delta);
  if (delta.finish) choice.finish_reason = ToProtocol(*delta.finish);
  if (!delta.stop.empty()) choice.stop_reason = delta.stop;
  return choice;
}

void CompletionWriter::TakePrompt(size_t prompt, const RequestEvent& event) {
  if (event.prompt.empty()) return;
  for (size_t c = 0; c < n_; ++c) unsent_prompt_[prompt * n_ + c] = event.prompt;
}

void CompletionWriter::CountUsage(size_t prompt, const RequestEvent& event) {
  usages_[prompt] = event.usage;
  if (event.finished) --num_unfinished_;
}

Usage CompletionWriter::TotalUsage() const {
  Usage total;
  for (const Usage& usage : usages_) {
    total.prompt_tokens += usage.prompt_tokens;
    total.completion_tokens += usage.completion_tokens;
    total.cached_tokens += usage.cached_tokens;
    total.prefill_s += usage.prefill_s;
    total.decode_s += usage.decode_s;
    bool is_earlier = total.ttft_s == 0 || usage.ttft_s < total.ttft_s;
    if (usage.ttft_s > 0 && is_earlier) total.ttft_s = usage.ttft_s;
    total.end_to_end_s = std::max(total.end_to_end_s, usage.end_to_end_s);
  }
  return total;
}

std::vector<protocol::Completion> CompletionWriter::WriteChunks(size_t prompt,
                                                                const RequestEvent& event) {
  std::vector<protocol::Completion> chunks;
  TakePrompt(prompt, event);
  if (event.progress) {
    head_.FillIn(&chunks.emplace_back());
    chunks.back().prompt_progress = ToProtocol(*event.progress);
  }
  for (const Delta& delta : event.deltas) {
    if (delta.text.empty() && !delta.finish && (!logprobs_ || delta.tokens.empty())) continue;
    head_.FillIn(&chunks.emplace_back());
    chunks.back().choices.push_back(WriteDelta(prompt, delta));
  }
  CountUsage(prompt, event);
  if (finished() && include_usage_) {
    head_.FillIn(&chunks.emplace_back());
    chunks.back().usage = ToProtocol(TotalUsage(), /*with_extra=*/true);
  }
  if (timings_ && !chunks.empty()) {
    protocol::Timings timings = TimingsOf(TotalUsage());
    for (protocol::Completion& chunk : chunks) chunk.timings = timings;
  }
  return chunks;
}

void CompletionWriter::Collect(size_t prompt, const RequestEvent& event) {
  TakePrompt(prompt, event);
  for (const Delta& delta : event.deltas) {
    protocol::CompletionChoice piece = WriteDelta(prompt, delta);
    protocol::CompletionChoice& choice = whole_.choices[static_cast<size_t>(piece.index)];
    choice.text += piece.text;
    if (piece.finish_reason) choice.finish_reason = piece.finish_reason;
    if (piece.stop_reason) choice.stop_reason = piece.stop_reason;
    if (!piece.logprobs) continue;
    Extend(&choice.logprobs->tokens, piece.logprobs->tokens);
    Extend(&choice.logprobs->token_logprobs, piece.logprobs->token_logprobs);
    Extend(&choice.logprobs->top_logprobs, piece.logprobs->top_logprobs);
    Extend(&choice.logprobs->text_offset, piece.logprobs->text_offset);
  }
  CountUsage(prompt, event);
  if (!finished()) return;
  Usage total = TotalUsage();
  whole_.usage = ToProtocol(total, /*with_extra=*/false);
  if (timings_) whole_.timings = TimingsOf(total);
}

}  // namespace mlc
