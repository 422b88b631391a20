// The commit of a step: logits become tokens of their sequences, drafts are verified.
//
// A sequence has one row of logits after its last known token, and one after each draft. The token
// of each row is chosen as it would be without drafts, with the row's own random number (base/rng).
// The next row counts only if the chosen token equals the draft for which that row was computed. So
// drafts never change the generated text. They change only the number of tokens that a step yields:
// 1 to 1 + drafts.
#pragma once

#include <memory>
#include <vector>

#include "engine/drafts.h"
#include "engine/sequence.h"

namespace mlc {

// One sequence's part of a step's logits, and the result of its commit.
struct SequenceCommit {
  std::shared_ptr<Sequence> sequence;
  Drafts drafts;
  const float* logits;  // [1 + drafts.size(), LogitRows::stride]; null: use `chosen`

  int num_accepted = 0;  // how many drafts were accepted; they form a path from the known tokens
  int last_accepted = Drafts::kKnown;  // the last draft of that path
  Status status = {};                  // why no token could be chosen; ok otherwise
  // Without logits: the tokens that the device chose. The first follows the known tokens (-1: the
  // device could not choose). The others follow one draft each; these drafts form a chain. There
  // are fewer tokens when a draft ends the answer.
  std::vector<int32_t> chosen = {};
};

struct LogitRows {
  int stride;      // floats from one row to the next: the model's vocabulary
  int vocab_size;  // number of tokens that may be chosen: the first ones of a row
};

// Chooses the token that follows `sequence` and its drafts. `logits` is [rows.vocab_size]. The
// caller owns `scratch` and may use it again. Returns kInternal when no token can be chosen.
Result<int32_t> ChooseToken(const LogitRows& rows, Sequence* sequence, const float* logits,
                            SamplerScratch* scratch);

struct LikelyToken {
  int32_t token;
  double logprob;  // in the distribution from which it is chosen, at temperature 1
};
// The token that ChooseToken gives, then the likeliest other tokens. Returns `count` tokens, or
// fewer when fewer are possible.
Result<std::vector<LikelyToken>> ChooseTokens(const LogitRows& rows, Sequence* sequence,
                                              const float* logits, int count,
                                              SamplerScratch* scratch);

// Chooses the tokens of one sequence and accepts them. Uses nothing that another sequence of the
// step uses. `max_length` is the limit for prompt and answer together.
void CommitSequence(const LogitRows& rows, int max_length, SequenceCommit* commit,
                    SamplerScratch* scratch);

// Does the same for all sequences of a step, on the worker pool when that is faster. This function
// fills `scratch`, one entry for each worker.
void CommitSequences(const LogitRows& rows, int max_length, std::vector<SequenceCommit>* commits,
                     std::vector<SamplerScratch>* scratch);

}  // namespace mlc
