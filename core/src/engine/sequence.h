// One choice of one request, while the engine works on it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "engine/pooling.h"
#include "engine/request.h"
#include "grammar/grammar.h"
#include "kv/kv_cache.h"
#include "text/stop_matcher.h"
#include "text/stream_decoder.h"

namespace mlc {

// The state that all choices of a request share.
struct RequestState {
  // `ids`: the ids of the prompt (prompt_ids.h).
  RequestState(Request r, std::vector<int32_t> ids)
      : request(std::move(r)), prompt_ids(std::move(ids)), stops(request.stop_strings) {}
  Request request;
  std::vector<int32_t> prompt_ids;
  StopMatcher stops;          // in its initial state; each choice copies it and shares its tables
  int num_unfinished = 0;     // number of choices
  std::vector<Delta> deltas;  // published, but not sent yet
  std::vector<GeneratedToken> prompt_scores;  // with `prompt_logprobs`: complete, but not sent yet
  int completion_tokens = 0, reasoning_tokens = 0;
  int accepted_prediction_tokens = 0, rejected_prediction_tokens = 0;
  DraftGain drafts;
  // tokens of the prompt that the prefix cache held; set at admission
  std::optional<int> cached_tokens;
  bool held = false;     // waits until its grammar is compiled, or kept blocks are read
  bool paused = false;   // waits until its reader has caught up
  bool started = false;  // it was admitted at least once
  // When it last had its turn while others waited. It ranks as if it had come then.
  std::optional<Clock::time_point> turn_ended;
  std::vector<double> embedding;  // with `pooling`: set when it is complete
  std::optional<Clock::time_point> first_row, first_token;
};

// Where the drafts of a sequence in a step come from.
enum class DraftSource {
  kForced,      // the text that a grammar forces
  kPrediction,  // the request's prediction
  kLongRun,     // what followed earlier behind the same last tokens: kLongRunTokens or more,
  kShortRun,    // or fewer
  kDrafter,
};
constexpr size_t kNumDraftSources = 5;

constexpr size_t kDraftPlaces = 4;
// How many recent drafts of one source were accepted, by their place behind the last known token;
// the last place stands for all further ones. A draft counts as tried only if all drafts before it
// were accepted.
struct DraftRecord {
  struct Count {
    double tried = 0, accepted = 0;
  };
  std::array<Count, kDraftPlaces> places;
};

class Sequence {
 public:
  Sequence(SequenceId id, int choice, std::shared_ptr<RequestState> request,
           const Tokenizer* tokenizer);

  const SequenceId id;
  const int choice;
  const std::shared_ptr<RequestState> request;

  // The ids of the prompt, then the generated tokens. An embedding row of the prompt has a name
  // below zero.
  const std::vector<int32_t>& tokens() const { return tokens_; }
  int num_tokens() const { return static_cast<int>(tokens_.size()); }
  int num_prompt_tokens() const { return num_prompt_tokens_; }
  int num_generated() const { return num_tokens() - num_prompt_tokens_; }
  const TokenCounts& counts() const { return counts_; }
  // What bias and penalties do to the logits of the next token, behind the drafts.
  std::vector<LogitChange> Changes(int vocab_size) const;
  std::optional<Clock::time_point> preempted_at;  // the last time; empty: never
  int turn_begin = 0;                             // number of tokens at the beginning of its turn
  int num_computed = 0;  // number of tokens whose keys and values are in the cache
  std::array<DraftRecord, kNumDraftSources> draft_records;
  int num_learned = 0;  // how many of the tokens PromptLookup has learned from

  // Whether the request wants a vector. Then nothing is generated.
  bool is_pooled() const { return pooler_.has_value(); }
  bool generates() const { return !is_pooled() && request->request.max_tokens != 0; }
  // Whether log probabilities of the prompt are wanted and not complete yet.
  bool wants_scores() const;
  // Of its next `num_rows` rows, how many (the first ones) are followed by tokens of the prompt
  // whose log probabilities are wanted and not known yet.
  int NumScoredRows(int num_rows) const;
  // Adds the scores of those rows. Call it before num_computed counts them.
  void AddScores(std::vector<GeneratedToken> scores);
  // Ends all choices of a request that generates no token, at the point of its first token.
  void FinishEmpty();
  // Of its next `num_rows` rows, how many (the last ones) its vector needs.
  int NumPooledRows(int num_rows) const;
  // Reads the hidden states of those rows from `rows` [.., hidden_size]. Call it before
  // num_computed counts them. Ends the choice when its text is complete. Returns how many rows it
  // read.
  int Pool(const float* rows, int num_rows, int hidden_size);
  // The tokens that may be taken from the prefix cache instead of being computed. Empty if every
  // row must be read or scored.
  const std::vector<int32_t>& reusable_tokens() const;
  // Of its next `num_rows` rows, how many (the first ones) one step can compute (Prompt).
  int NumStepRows(int num_rows) const {
    return request->request.prompt.NumStepRows(num_computed, num_rows);
  }
  // How many of its tokens have no keys and values yet: one in decode, many in prefill.
  int num_uncomputed() const { return num_tokens() - num_computed; }
  // Whether it waits for its next token and not for its prompt. An answer may have several rows to
  // compute: of tokens whose states were given up with a refused draft. One that was preempted has
  // many, and is read like a prompt.
  bool decodes() const {
    constexpr int kFewRows = 16;
    return num_uncomputed() == 1 || (num_uncomputed() <= kFewRows && num_generated() > 0);
  }
  // What its next rows await; null if nothing.
  LateRows* AwaitedRows() const { return request->request.prompt.AwaitedFrom(num_computed); }
  // Forgets that keys and values were computed, because the cache no longer has them.
  void ForgetComputed();

  bool has_grammar() const { return grammar_.has_value(); }
  // The mask of the tokens that the grammar allows next, one bit for each token. It is valid until
  // the next call.
  Result<const std::vector<int32_t>*> NextMask();
  // Writes the logits to `to`; tokens that the grammar does not allow become impossible. `to` may
  // be `logits`. Both are [vocab_size].
  Status MaskByGrammar(const float* logits, int vocab_size, float* to);
  // Fills the masks for the next row and for the rows of `drafts`, until `stop` is true. The masks
  // are valid until ForgetMasks. It uses only the grammar's state and restores it.
  void FillMasksAhead(const std::vector<int32_t>& drafts, const std::atomic<bool>& stop);
  void ForgetMasks() { num_masks_ahead_ = 0; }
  // The time that one mask takes, in seconds: an estimate from the slower of the recent masks.
  double mask_seconds() const { return mask_seconds_; }
  // The token that must come next whatever the logits are, if there is one.
  std::optional<int32_t> ForcedToken() const;
  // The random number that chooses the next token. It is the same after a preemption.
  double NextUniform() const;
  // Accepts a sampled token: appends it, or ends the choice. `max_length` is the limit for prompt
  // and answer together. It changes only this sequence, so several threads may commit the sequences
  // of one step. Publish follows on one thread.
  void Accept(GeneratedToken token, int max_length);
  // Moves the accepted tokens since the last call to the request.
  void Publish();
  bool finished() const { return finish_.has_value(); }
  bool IsStopToken(int32_t token) const;

  // Drafts: the grammar, the penalties and NextUniform count these tokens as accepted until
  // PopDrafts removes all of them. tokens() and the text never contain them.
  void PushDraft(int32_t token);
  void PopDrafts();
  // Makes `path` the drafts. Pushes only the missing ones if the current drafts are the beginning
  // of `path`; otherwise replaces all.
  void SetDrafts(const std::vector<int32_t>& path);
  // The text that the grammar forces, as at most `most` tokens.
  std::vector<int32_t> ForcedDrafts(const Tokenizer& tokenizer, int most);
  // How many of the drafts, from the first on, the grammar allows.
  int CountFitting(const std::vector<int32_t>& drafts);
  int num_drafts() const { return static_cast<int>(drafts_.size()); }
  // Whether nothing can follow the drafts, because the last one ends the answer.
  bool drafts_ended() const { return drafts_ended_; }

 private:
  bool AtLimit(int max_length) const;
  void Finish(FinishReason reason, Delta* delta);
  Status FillMask(std::vector<int32_t>* mask);

  std::vector<int32_t> tokens_;
  std::optional<Pooler> pooler_;
  std::vector<GeneratedToken> scores_;  // of the first tokens of the prompt
  bool has_scores_ = false;             // all scores are known and went to the request
  int num_prompt_tokens_;
  TokenCounts counts_;
  StreamDecoder decoder_;
  StopMatcher stops_;
  std::optional<GrammarMatcher> grammar_;
  std::optional<ThinkingMeter> thinking_;
  std::optional<FinishReason> finish_;
  std::optional<Delta> unpublished_;
  int num_unpublished_ = 0;  // accepted tokens, with the stop token
  std::vector<int32_t> drafts_;
  int num_grammar_drafts_ = 0;  // drafts that the grammar has accepted
  bool drafts_ended_ = false;
  std::vector<std::vector<int32_t>> masks_;  // memory for masks; the first few are filled ahead
  int num_masks_ahead_ = 0;                  // the masks of the rows from masks_at_ on
  int masks_at_ = 0;                         // a number of tokens
  double mask_seconds_ = 0;
};

}  // namespace mlc
