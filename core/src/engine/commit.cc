#include "engine/commit.h"

#include <algorithm>

namespace mlc {

Result<int32_t> ChooseToken(const LogitRows& rows, Sequence* sequence, const float* logits,
                            std::vector<float>* scratch) {
  const SamplingParams& params = sequence->request->request.sampling;
  scratch->assign(logits, logits + rows.vocab_size);
  ApplyBiasAndPenalties(params, sequence->counts(), scratch->data(), rows.vocab_size);
  MLC_RETURN_IF_ERROR(sequence->MaskByGrammar(scratch->data(), rows.vocab_size));
  return SampleToken(params, scratch->data(), rows.vocab_size, sequence->NextUniform());
}

void CommitSequence(const LogitRows& rows, int max_length, SequenceCommit* commit,
                    std::vector<float>* scratch) {
  Sequence* sequence = commit->sequence.get();
  const SamplingParams& params = sequence->request->request.sampling;
  const float* logits = commit->logits;
  for (size_t row = 0; row <= commit->drafts.size(); ++row, logits += rows.stride) {
    Result<int32_t> id = ChooseToken(rows, sequence, logits, scratch);
    commit->status = id.status();
    if (!id.ok()) return;
    GeneratedToken token{*id, std::nullopt};
    if (params.logprobs) {
      token.logprobs = ComputeLogprobs(logits, rows.vocab_size, *id, params.top_logprobs);
    }
    bool was_drafted = row < commit->drafts.size() && *id == commit->drafts[row];
    int num_tokens = sequence->num_tokens();
    sequence->Accept(std::move(token), max_length);
    bool is_kept = sequence->num_tokens() > num_tokens;  // a stop token is not
    if (was_drafted && is_kept) ++commit->num_accepted;
    if (!was_drafted || sequence->finished()) return;
  }
}

}  // namespace mlc
