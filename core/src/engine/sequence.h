// One choice of one request, on its way through the engine.
#ifndef MLC_ENGINE_SEQUENCE_H_
#define MLC_ENGINE_SEQUENCE_H_

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

// What the choices of a request share.
struct RequestState {
  // `ids`: of the prompt (prompt_ids.h).
  RequestState(Request r, std::vector<int32_t> ids)
      : request(std::move(r)), prompt_ids(std::move(ids)), stops(request.stop_strings) {}
  Request request;
  std::vector<int32_t> prompt_ids;
  StopMatcher stops;          // as new; each choice has a copy, which shares its tables
  int num_unfinished = 0;     // choices
  std::vector<Delta> deltas;  // published and not sent yet
  std::vector<GeneratedToken> prompt_scores;  // with `prompt_logprobs`, complete and not sent yet
  int completion_tokens = 0, reasoning_tokens = 0;
  std::optional<int> cached_tokens;  // of the prompt, found in the prefix cache; once admitted
  bool held = false;                 // until its grammar is compiled
  bool paused = false;               // until its reader has caught up
  bool started = false;              // it was admitted once
  std::vector<double> embedding;     // with `pooling`, once it is complete
  std::optional<Clock::time_point> first_row, first_token;
};

// How drafts fared, the recent ones. One is tried when those before it were accepted.
struct DraftRecord {
  struct Count {
    double tried = 0, accepted = 0;
  };
  Count first, next;  // the first draft of a step, and those behind it
};

class Sequence {
 public:
  Sequence(SequenceId id, int choice, std::shared_ptr<RequestState> request,
           const Tokenizer* tokenizer);

  const SequenceId id;
  const int choice;
  const std::shared_ptr<RequestState> request;

  // The ids of the prompt, names of its embedding rows among them (below zero), then what was
  // generated.
  const std::vector<int32_t>& tokens() const { return tokens_; }
  int num_tokens() const { return static_cast<int>(tokens_.size()); }
  int num_prompt_tokens() const { return num_prompt_tokens_; }
  int num_generated() const { return num_tokens() - num_prompt_tokens_; }
  const TokenCounts& counts() const { return counts_; }
  std::optional<Clock::time_point> preempted_at;  // the last time, if ever
  int num_computed = 0;                           // tokens whose keys and values are in the cache
  DraftRecord draft_record, jump_record;          // of a drafter's, and of forced ones

  // Of a request for a vector: nothing is generated.
  bool is_pooled() const { return pooler_.has_value(); }
  bool generates() const { return !is_pooled() && request->request.max_tokens != 0; }
  // Whether log probabilities of the prompt are wanted and not complete.
  bool wants_scores() const;
  // How many of its next `num_rows` rows, the first ones, are followed by tokens of the prompt
  // whose log probabilities are wanted and not known yet.
  int NumScoredRows(int num_rows) const;
  // Takes those rows' before num_computed counts them.
  void AddScores(std::vector<GeneratedToken> scores);
  // Ends all choices of a request that generates nothing, in the place of its first token.
  void FinishEmpty();
  // How many of its next `num_rows` rows its vector reads: the last ones.
  int NumPooledRows(int num_rows) const;
  // Takes those rows' hidden states from `rows` [.., hidden_size] before num_computed counts them;
  // ends the choice when its text is complete. Returns what stands behind them.
  const float* Pool(const float* rows, int num_rows, int hidden_size);
  // The tokens that the prefix cache may spare it: none where every row is read or scored.
  const std::vector<int32_t>& sparable_tokens() const;
  // Its keys and values are gone: it begins anew.
  void ForgetComputed();

  bool has_grammar() const { return grammar_.has_value(); }
  // What the grammar allows next, a bit a token; until another is asked for.
  Result<const std::vector<int32_t>*> NextMask();
  // The logits of what the grammar allows next, the others' impossible. `to` may be `logits`; both
  // [vocab_size].
  Status MaskByGrammar(const float* logits, int vocab_size, float* to);
  // Fills the masks that the next row and those of `drafts` will need, until `stop`; they hold
  // until ForgetMasks. Touches nothing but the grammar's state, and leaves that as it was.
  void FillMasksAhead(const std::vector<int32_t>& drafts, const std::atomic<bool>& stop);
  void ForgetMasks() { num_masks_ahead_ = 0; }
  // What a mask of it takes, judging by the slower ones of late.
  double mask_seconds() const { return mask_seconds_; }
  // The token that comes next whatever the logits say, if one does.
  std::optional<int32_t> ForcedToken() const;
  // The number that chooses the next token; the same after a preemption.
  double NextUniform() const;
  // Takes a sampled token: appends it, or ends the choice. `max_length` bounds prompt and answer
  // together. Changes nothing but this sequence, so that those of a step may be committed by
  // several threads; Publish follows on one.
  void Accept(GeneratedToken token, int max_length);
  // Moves what was accepted since the last call to the request.
  void Publish();
  bool finished() const { return finish_.has_value(); }
  bool IsStopToken(int32_t token) const;

  // Drafts: tokens that grammar, penalties and NextUniform count as if they were accepted, until
  // they are taken back all together. tokens() and the text never see them.
  void PushDraft(int32_t token);
  void PopDrafts();
  // Pushes those of `path` behind the drafts when they are its beginning; else all, in their stead.
  void SetDrafts(const std::vector<int32_t>& path);
  // The text that the grammar leaves no choice about, as tokens, at most `most`.
  std::vector<int32_t> ForcedDrafts(const Tokenizer& tokenizer, int most);
  // How many of the first drafts the grammar admits.
  int CountFitting(const std::vector<int32_t>& drafts);
  int num_drafts() const { return static_cast<int>(drafts_.size()); }
  // Whether nothing can follow the drafts: the last one ends the answer.
  bool drafts_ended() const { return drafts_ended_; }

 private:
  bool AtLimit(int max_length) const;
  void Finish(FinishReason reason, Delta* delta);
  Status FillMask(std::vector<int32_t>* mask);

  std::vector<int32_t> tokens_;
  std::optional<Pooler> pooler_;
  std::vector<GeneratedToken> scores_;  // of the prompt's first tokens, as far as they are known
  bool has_scores_ = false;             // of all of them; they went to the request
  int num_prompt_tokens_;
  TokenCounts counts_;
  StreamDecoder decoder_;
  StopMatcher stops_;
  std::optional<GrammarMatcher> grammar_;
  std::optional<ThinkingMeter> thinking_;
  std::optional<FinishReason> finish_;
  std::optional<Delta> unpublished_;
  int num_unpublished_ = 0;  // tokens accepted, the stop token included
  std::vector<int32_t> drafts_;
  int num_grammar_drafts_ = 0;  // of them that the grammar has taken
  bool drafts_ended_ = false;
  std::vector<std::vector<int32_t>> masks_;  // memory for them; the first few are filled ahead
  int num_masks_ahead_ = 0;                  // of the rows from masks_at_ on
  int masks_at_ = 0;                         // in tokens
  double mask_seconds_ = 0;
};

}  // namespace mlc

#endif  // MLC_ENGINE_SEQUENCE_H_
