#include "engine/commit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "runtime/parallel.h"

namespace mlc {

namespace {

// The logits after the processor, bias, penalties and the grammar's mask: `logits` itself, or a
// copy in `scratch`. `processor`: null for none.
Result<const float*> AdjustedLogits(const LogitRows& rows, Sequence* sequence, const float* logits,
                                    const LogitProcessor* processor, SamplerScratch* scratch) {
  const SamplingParams& params = sequence->request->request.sampling;
  bool changes = params.changes_logits() || params.narrows_by_sigma() || processor != nullptr;
  if (!changes && !sequence->has_grammar()) return logits;
  scratch->row.resize(static_cast<size_t>(rows.vocab_size));
  float* row = scratch->row.data();
  if (changes) {
    std::copy_n(logits, rows.vocab_size, row);
    if (processor != nullptr) {
      MLC_RETURN_IF_ERROR(RunLogitProcessor(*processor, sequence->tokens(),
                                            sequence->num_prompt_tokens(), row, rows.vocab_size));
    }
    ApplyChanges(sequence->Changes(rows.vocab_size), row);
    logits = row;
  }
  // All tokens of the model count, also those that the grammar forbids.
  double sigma = params.narrows_by_sigma() ? Deviation(logits, rows.vocab_size) : 0;
  if (sequence->has_grammar()) {
    MLC_RETURN_IF_ERROR(sequence->MaskByGrammar(logits, rows.vocab_size, row));
  }
  if (sigma > 0) KeepNearLargest(params.top_n_sigma * sigma, row, rows.vocab_size);
  return row;
}

Result<int32_t> ChooseAdjusted(const LogitRows& rows, const Sequence& sequence, const float* logits,
                               SamplerScratch* scratch) {
  const SamplingParams& params = sequence.request->request.sampling;
  return SampleToken(params, logits, rows.vocab_size, sequence.NextUniform(), scratch);
}

}  // namespace

Result<int32_t> ChooseToken(const LogitRows& rows, Sequence* sequence, const float* logits,
                            SamplerScratch* scratch) {
  if (std::optional<int32_t> forced = sequence->ForcedToken()) return *forced;
  const LogitProcessor* processor = sequence->request->request.logit_processor.get();
  MLC_ASSIGN_OR_RETURN(logits, AdjustedLogits(rows, sequence, logits, processor, scratch));
  Result<int32_t> token = ChooseAdjusted(rows, *sequence, logits, scratch);
  if (!token.ok() && processor != nullptr) {
    return LogitProcessorFailed("left no token that the answer's shape allows");
  }
  return token;
}

Result<std::vector<LikelyToken>> ChooseTokens(const LogitRows& rows, Sequence* sequence,
                                              const float* logits, int count,
                                              SamplerScratch* scratch) {
  if (std::optional<int32_t> forced = sequence->ForcedToken()) {
    return std::vector<LikelyToken>{{*forced, 0.0}};
  }
  // These are guesses, so the caller's processor is not asked.
  MLC_ASSIGN_OR_RETURN(logits, AdjustedLogits(rows, sequence, logits, nullptr, scratch));
  MLC_ASSIGN_OR_RETURN(int32_t token, ChooseAdjusted(rows, *sequence, logits, scratch));
  if (count <= 1) return std::vector<LikelyToken>{{token, 0.0}};
  TokenLogprobs logprobs = ComputeLogprobs(logits, rows.vocab_size, token, count, scratch);
  std::vector<LikelyToken> chosen = {{token, logprobs.chosen}};
  for (const auto& [other, logprob] : logprobs.top) {
    bool is_possible = std::isfinite(logprob) && static_cast<int>(chosen.size()) < count;
    if (other != token && is_possible) chosen.push_back({other, logprob});
  }
  return chosen;
}

namespace {

// Whether there is a token after the known ones and the first `row` drafts.
bool HasToken(const SequenceCommit& commit, size_t row) {
  return commit.logits != nullptr || row < commit.chosen.size() || commit.sequence->ForcedToken();
}

Result<int32_t> TokenOfRow(const LogitRows& rows, const SequenceCommit& commit, size_t row,
                           SamplerScratch* scratch) {
  Sequence* sequence = commit.sequence.get();
  if (commit.logits != nullptr) {
    const float* logits = commit.logits + row * static_cast<size_t>(rows.stride);
    return ChooseToken(rows, sequence, logits, scratch);
  }
  if (std::optional<int32_t> forced = sequence->ForcedToken()) return *forced;
  int32_t chosen = commit.chosen[row];
  return chosen < 0 ? Result<int32_t>(NoToken()) : chosen;
}

void CommitRows(const LogitRows& rows, int max_length, SequenceCommit* commit,
                SamplerScratch* scratch) {
  Sequence* sequence = commit->sequence.get();
  const SamplingParams& params = sequence->request->request.sampling;
  // row 0: known tokens; row i: draft i - 1
  for (int row = 0; HasToken(*commit, static_cast<size_t>(row));) {
    Result<int32_t> id = TokenOfRow(rows, *commit, static_cast<size_t>(row), scratch);
    commit->status = id.status();
    if (!id.ok()) return;
    GeneratedToken token{*id, std::nullopt};
    if (params.logprobs) {
      const float* logits = commit->logits + static_cast<ptrdiff_t>(row) * rows.stride;
      token.logprobs = ComputeLogprobs(logits, rows.vocab_size, *id, params.top_logprobs, scratch);
    }
    int draft = commit->drafts.Child(row - 1, *id);
    int num_tokens = sequence->num_tokens();
    sequence->Accept(std::move(token), max_length);
    bool is_kept = sequence->num_tokens() > num_tokens;  // a stop token is not kept
    if (draft != Drafts::kNone && is_kept) {
      ++commit->num_accepted;
      commit->last_accepted = draft;
    }
    if (draft == Drafts::kNone || sequence->finished()) return;
    // The masks were filled for the first chain.
    if (draft != row) sequence->ForgetMasks();
    row = draft + 1;
  }
}

}  // namespace

void CommitSequence(const LogitRows& rows, int max_length, SequenceCommit* commit,
                    SamplerScratch* scratch) {
  CommitRows(rows, max_length, commit, scratch);
  // The masks behind a draft that was not chosen belong to another text.
  commit->sequence->ForgetMasks();
}

// Processors of callers run on the engine's thread, one at a time.
static bool HasProcessor(const SequenceCommit& commit) {
  return commit.sequence->request->request.logit_processor != nullptr;
}

void CommitSequences(const LogitRows& rows, int max_length, std::vector<SequenceCommit>* commits,
                     std::vector<SamplerScratch>* scratch) {
  // number of logits; one thread takes some tens of microseconds
  constexpr int64_t kWorthWaking = 1 << 18;
  int count = static_cast<int>(commits->size());
  bool is_large = count > 1 && int64_t{count} * rows.vocab_size >= kWorthWaking &&
                  std::none_of(commits->begin(), commits->end(), HasProcessor);
  scratch->resize(std::max<size_t>(scratch->size(), is_large ? MaxWorkers() : 1));
  auto commit = [&](int index, int worker) {
    CommitSequence(rows, max_length, &(*commits)[static_cast<size_t>(index)],
                   &(*scratch)[static_cast<size_t>(worker)]);
  };
  if (is_large) return ParallelFor(count, commit);
  for (int index = 0; index < count; ++index) commit(index, 0);
}

}  // namespace mlc
