// The commit of a step: logits become tokens of their sequences, drafts are verified.
//
// A sequence has one row of logits after its last known token and one after each draft. The token
// of each row is chosen as it would be without drafts, by the row's own number (base/rng), and the
// next row counts as long as the token is the draft that the row was computed for. So drafts never
// change what is generated, only how much of it a step yields: 1 to 1 + drafts tokens.
#ifndef MLC_ENGINE_COMMIT_H_
#define MLC_ENGINE_COMMIT_H_

#include <memory>
#include <vector>

#include "engine/drafts.h"
#include "engine/sequence.h"

namespace mlc {

// One sequence's share of a step's logits, and what came of it.
struct SequenceCommit {
  std::shared_ptr<Sequence> sequence;
  Drafts drafts;
  const float* logits;  // [1 + drafts.size(), LogitRows::stride]; null: tokens are `chosen`

  int num_accepted = 0;                // drafts that were chosen, too: a path from the known tokens
  int last_accepted = Drafts::kKnown;  // where it ends
  Status status = {};                  // why no token could be chosen, if so
  // Without logits: the token that the device chose after the known ones (-1: it could not), and
  // after each draft, which form a chain. There may be fewer, as behind one that ends the answer.
  std::vector<int32_t> chosen = {};
};

struct LogitRows {
  int stride;      // floats from row to row: the model's vocabulary
  int vocab_size;  // tokens that may be chosen: the first ones
};

// The token that follows `sequence` and its drafts. `logits` [rows.vocab_size]; `scratch` is the
// caller's, to be used again. kInternal when none can be chosen.
Result<int32_t> ChooseToken(const LogitRows& rows, Sequence* sequence, const float* logits,
                            SamplerScratch* scratch);

struct LikelyToken {
  int32_t token;
  double logprob;  // by the distribution that it is chosen from, at temperature 1
};
// The token that ChooseToken gives, then the likeliest others; `count` in all, or fewer where no
// more are possible.
Result<std::vector<LikelyToken>> ChooseTokens(const LogitRows& rows, Sequence* sequence,
                                              const float* logits, int count,
                                              SamplerScratch* scratch);

// Chooses the tokens of one sequence and accepts them. Touches nothing that another sequence of the
// step does. `max_length` bounds prompt and answer together.
void CommitSequence(const LogitRows& rows, int max_length, SequenceCommit* commit,
                    SamplerScratch* scratch);

// The same for all sequences of a step, on the worker pool when that pays. `scratch`: of each
// worker, made here.
void CommitSequences(const LogitRows& rows, int max_length, std::vector<SequenceCommit>* commits,
                     std::vector<SamplerScratch>* scratch);

}  // namespace mlc

#endif  // MLC_ENGINE_COMMIT_H_
