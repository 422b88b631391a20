#include "engine/sequence.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/rng.h"
#include "base/utf8.h"

namespace mlc {

Sequence::Sequence(SequenceId id, int choice, std::shared_ptr<RequestState> request_state,
                   const Tokenizer* tokenizer)
    : id(id),
      choice(choice),
      request(std::move(request_state)),
      tokens_(request->prompt_ids),
      num_prompt_tokens_(static_cast<int>(tokens_.size())),
      decoder_(tokenizer, /*skip_special_tokens=*/true, request->request.shown_tokens),
      stops_(request->stops) {
  if (request->request.pooling) pooler_.emplace(*request->request.pooling);
  if (request->request.grammar) grammar_.emplace(*request->request.grammar);
  if (request->request.thinking) thinking_.emplace(&*request->request.thinking);
}

Status Sequence::FillMask(std::vector<int32_t>* mask) {
  // a slow mask may come only now and then, for example one in 8 letters of a pattern
  constexpr double kFade = 0.9;
  Clock::time_point begin = Clock::now();
  Status status = grammar_->FillMask(mask);
  mask_seconds_ = std::max(SecondsBetween(begin, Clock::now()), kFade * mask_seconds_);
  return status;
}

Result<const std::vector<int32_t>*> Sequence::NextMask() {
  int row = num_tokens() + num_drafts() - masks_at_;
  bool is_filled = row >= 0 && row < num_masks_ahead_;
  if (!is_filled && masks_.empty()) masks_.emplace_back();
  std::vector<int32_t>& mask = masks_[is_filled ? static_cast<size_t>(row) : 0];
  if (!is_filled) {
    ForgetMasks();
    MLC_RETURN_IF_ERROR(FillMask(&mask));
  }
  return &mask;
}

Status Sequence::MaskByGrammar(const float* logits, int vocab_size, float* to) {
  MLC_ASSIGN_OR_RETURN(const std::vector<int32_t>* mask, NextMask());
  ApplyMask(*mask, logits, vocab_size, to);
  return Status();
}

void Sequence::FillMasksAhead(const std::vector<int32_t>& drafts, const std::atomic<bool>& stop) {
  ForgetMasks();
  masks_at_ = num_tokens();
  masks_.resize(std::max(masks_.size(), drafts.size() + 1));
  int num_accepted = 0;
  for (size_t row = 0; row <= drafts.size() && !stop; ++row) {
    if (row > 0 && !grammar_->Accept(drafts[row - 1])) break;
    num_accepted += row > 0;
    // If a mask cannot be filled, the commit tries again and reports the error.
    if (grammar_->finished() || !FillMask(&masks_[row]).ok()) break;
    ++num_masks_ahead_;
  }
  grammar_->Rollback(num_accepted);
}

std::optional<int32_t> Sequence::ForcedToken() const {
  return thinking_ ? thinking_->forced() : std::nullopt;
}

int Sequence::NumPooledRows(int num_rows) const {
  if (!pooler_) return 0;
  if (pooler_->reads_all()) return num_rows;
  return num_computed + num_rows == num_tokens() ? 1 : 0;
}

int Sequence::Pool(const float* rows, int num_rows, int hidden_size) {
  int num_read = NumPooledRows(num_rows);
  pooler_->Add(rows, num_read, hidden_size);
  if (num_computed + num_rows == num_tokens()) {
    finish_ = FinishReason::kStop;
    request->embedding = pooler_->Vector();
    --request->num_unfinished;
  }
  return num_read;
}

const std::vector<int32_t>& Sequence::reusable_tokens() const {
  static const std::vector<int32_t> kNone;
  return wants_scores() || (pooler_ && pooler_->reads_all()) ? kNone : tokens_;
}

bool Sequence::wants_scores() const {
  return request->request.prompt_logprobs && choice == 0 && !has_scores_;
}

int Sequence::NumScoredRows(int num_rows) const {
  if (!wants_scores()) return 0;
  return std::clamp(num_prompt_tokens_ - 1 - num_computed, 0, num_rows);
}

void Sequence::AddScores(std::vector<GeneratedToken> scores) {
  if (!wants_scores()) return;
  if (scores_.empty()) scores_.push_back({tokens_[0], std::nullopt});
  std::move(scores.begin(), scores.end(), std::back_inserter(scores_));
  if (static_cast<int>(scores_.size()) < num_prompt_tokens_) return;
  has_scores_ = true;
  request->prompt_scores = std::exchange(scores_, {});
}

void Sequence::FinishEmpty() {
  for (int c = 0; c < request->request.n; ++c) {
    request->deltas.push_back({c, "", {}, FinishReason::kLength});
  }
  request->num_unfinished = 0;
  finish_ = FinishReason::kLength;
}

void Sequence::ForgetComputed() {
  num_computed = 0;
  if (pooler_) pooler_->Reset();
  scores_.clear();
}

std::vector<LogitChange> Sequence::Changes(int vocab_size) const {
  const SamplingParams& params = request->request.sampling;
  std::vector<int32_t> newest_first;
  if (params.has_dry()) {
    newest_first.assign(drafts_.rbegin(), drafts_.rend());
    newest_first.insert(newest_first.end(), tokens_.rbegin(), tokens_.rend());
  }
  return ChangesOf(params, counts_, newest_first, vocab_size);
}

double Sequence::NextUniform() const {
  uint64_t seed = request->request.sampling.seed + static_cast<uint64_t>(choice);
  return UniformAt(seed, static_cast<uint64_t>(num_generated() + num_drafts()));
}

bool Sequence::IsStopToken(int32_t token) const {
  const Request& r = request->request;
  return !r.ignore_eos && std::find(r.stop_token_ids.begin(), r.stop_token_ids.end(), token) !=
                              r.stop_token_ids.end();
}

bool Sequence::AtLimit(int max_length) const {
  int max_tokens = request->request.max_tokens;
  return num_tokens() >= max_length || (max_tokens >= 0 && num_generated() >= max_tokens);
}

void Sequence::Finish(FinishReason reason, Delta* delta) {
  StopMatcher::Out last = stops_.Put(decoder_.Finish());
  // the decoder had held back the text with the stop string
  if (last.stopped) {
    reason = FinishReason::kStop;
    delta->stop = request->request.stop_strings[last.index];
  }
  delta->text += last.text + stops_.Finish();
  delta->finish = finish_ = reason;
}

void Sequence::Accept(GeneratedToken token, int max_length) {
  MLC_ICHECK(!finished() && drafts_.empty());
  if (!unpublished_) unpublished_ = Delta{choice, "", {}, std::nullopt, ""};
  Delta& delta = *unpublished_;
  ++num_unpublished_;
  if (IsStopToken(token.id)) return Finish(FinishReason::kStop, &delta);
  if (grammar_) grammar_->Accept(token.id);
  tokens_.push_back(token.id);
  counts_.Add(token.id);
  std::string text = decoder_.Put(token.id);
  if (thinking_) thinking_->Put(token.id, text);
  StopMatcher::Out out = stops_.Put(text);
  delta.text += out.text;
  delta.tokens.push_back(std::move(token));
  if (out.stopped) {
    delta.finish = finish_ = FinishReason::kStop;
    delta.stop = request->request.stop_strings[out.index];
  } else if (grammar_ && grammar_->finished()) {
    Finish(FinishReason::kStop, &delta);
  } else if (AtLimit(max_length)) {
    Finish(FinishReason::kLength, &delta);
  }
}

void Sequence::Publish() {
  if (!unpublished_) return;
  request->deltas.push_back(std::move(*unpublished_));
  request->completion_tokens += num_unpublished_;
  if (finished()) --request->num_unfinished;
  if (finished() && thinking_) request->reasoning_tokens += thinking_->num_tokens();
  unpublished_.reset();
  num_unpublished_ = 0;
}

void Sequence::PushDraft(int32_t token) {
  MLC_ICHECK(!drafts_ended_);
  drafts_.push_back(token);
  counts_.Add(token);
  bool fits_grammar = !grammar_ || grammar_->Accept(token);
  if (grammar_ && fits_grammar) ++num_grammar_drafts_;
  drafts_ended_ = IsStopToken(token) || !fits_grammar || (grammar_ && grammar_->finished());
}

void Sequence::PopDrafts() {
  for (int32_t token : drafts_) counts_.Remove(token);
  if (grammar_) grammar_->Rollback(num_grammar_drafts_);
  drafts_.clear();
  num_grammar_drafts_ = 0;
  drafts_ended_ = false;
}

void Sequence::SetDrafts(const std::vector<int32_t>& path) {
  bool is_beginning =
      drafts_.size() <= path.size() && std::equal(drafts_.begin(), drafts_.end(), path.begin());
  if (!is_beginning) PopDrafts();
  for (size_t i = drafts_.size(); i < path.size(); ++i) PushDraft(path[i]);
}

int Sequence::CountFitting(const std::vector<int32_t>& drafts) {
  int count = static_cast<int>(drafts.size());
  if (!grammar_) return count;
  int fitting = 0;
  while (fitting < count && grammar_->Accept(drafts[static_cast<size_t>(fitting)])) ++fitting;
  grammar_->Rollback(fitting);
  return fitting;
}

std::vector<int32_t> Sequence::ForcedDrafts(const Tokenizer& tokenizer, int most) {
  if (!grammar_ || ForcedToken()) return {};
  std::string text = grammar_->ForcedText();
  constexpr size_t kWorthwhile = 2, kLongest = 256;  // bytes
  if (text.size() < kWorthwhile) return {};
  // Text that is cut off here is forced again in the next step. Only whole characters stay.
  text.resize(std::min(text.size(), kLongest));
  text.resize(text.size() - IncompleteUtf8Tail(text));
  Result<std::vector<int32_t>> tokens = tokenizer.Encode(text);
  if (!tokens.ok()) return {};
  if (static_cast<int>(tokens->size()) > most) tokens->resize(static_cast<size_t>(most));
  tokens->resize(static_cast<size_t>(CountFitting(*tokens)));
  return *std::move(tokens);
}

}  // namespace mlc
