#include "chat/answer/answer_parts.h"

#include <atomic>
#include <chrono>
#include <random>

#include "base/rng.h"
#include "engine/metrics.h"

namespace mlc {
namespace {

int64_t UnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string NewAnswerId(const std::string& prefix) {
  static std::atomic<uint64_t> next = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  static const char kDigits[] = "0123456789abcdef";
  uint64_t bits = Mix64(next++);  // another number for each
  std::string text = prefix;
  for (int shift = 60; shift >= 0; shift -= 4) text.push_back(kDigits[bits >> shift & 15]);
  return text;
}

}  // namespace

AnswerHead::AnswerHead(const std::string& prefix, std::string model_name)
    : id(NewAnswerId(prefix)), model(std::move(model_name)), created(UnixSeconds()) {}

wire::OpenEnum<protocol::FinishReason> ToProtocol(FinishReason reason) {
  return reason == FinishReason::kLength ? protocol::FinishReason::kLength
                                         : protocol::FinishReason::kStop;
}

protocol::CompletionUsage ToProtocol(const Usage& usage, bool with_extra) {
  protocol::CompletionUsage out;
  out.prompt_tokens = usage.prompt_tokens;
  out.completion_tokens = usage.completion_tokens;
  out.total_tokens = usage.prompt_tokens + usage.completion_tokens;
  out.prompt_tokens_details.emplace().cached_tokens = usage.cached_tokens;
  if (usage.reasoning_tokens > 0 || usage.accepted_prediction_tokens) {
    protocol::CompletionTokensDetails& details = out.completion_tokens_details.emplace();
    if (usage.reasoning_tokens > 0) details.reasoning_tokens = usage.reasoning_tokens;
    details.accepted_prediction_tokens = usage.accepted_prediction_tokens;
    details.rejected_prediction_tokens = usage.rejected_prediction_tokens;
  }
  if (with_extra) out.extra = protocol::CompletionUsageExtra::Parse(UsageExtra(usage)).value();
  return out;
}

protocol::Timings TimingsOf(const Usage& usage) {
  protocol::Timings out;
  out.cache_n = usage.cached_tokens;
  out.prompt_n = usage.prefill_tokens();
  out.prompt_ms = usage.prefill_s * 1e3;
  out.prompt_per_token_ms = usage.seconds_per_prefill_token() * 1e3;
  out.prompt_per_second = usage.prefill_tokens_per_s();
  out.predicted_n = usage.completion_tokens;
  out.predicted_ms = usage.decode_s * 1e3;
  out.predicted_per_token_ms = usage.seconds_per_decode_token() * 1e3;
  out.predicted_per_second = usage.decode_tokens_per_s();
  if (usage.drafts.drafted > 0) {
    out.draft_n = usage.drafts.drafted;
    out.draft_n_accepted = usage.drafts.accepted;
  }
  return out;
}

protocol::PromptProgress ToProtocol(const PromptProgress& progress) {
  protocol::PromptProgress out;
  out.total = progress.total;
  out.cache = progress.cached;
  out.processed = progress.processed;
  out.time_ms = progress.seconds * 1e3;
  return out;
}

}  // namespace mlc
