#include "sampling/sampler_cpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "sampling/row_math.h"

namespace mlc {
namespace {

constexpr float kLeastPositive = std::numeric_limits<float>::denorm_min();

template <typename T>
T* Room(int size, std::vector<T>* vector) {
  if (vector->size() < static_cast<size_t>(size)) vector->resize(static_cast<size_t>(size));
  return vector->data();
}

// The tokens that are left: `count` weights and ids in the scratch memory, ordered by id.
struct Candidates {
  float* weights;
  int32_t* ids;
  int count;
};

// Collects the values that are at least `bound`, block by block. `row` may be the same memory as
// the result.
Candidates Collect(const float* row, int size, float bound, SamplerScratch* scratch) {
  float* block_max = Room((size + kRowBlock - 1) / kRowBlock, &scratch->block_max);
  BlockMax(row, size, block_max);
  Candidates out{Room(size, &scratch->weights), Room(size, &scratch->ids), 0};
  for (int block = 0; block < size; block += kRowBlock) {
    if (block_max[block / kRowBlock] < bound) continue;
    int end = std::min(size, block + kRowBlock);
    for (int i = block; i < end; ++i) {
      float value = row[i];
      out.weights[out.count] = value;
      out.ids[out.count] = i;
      out.count += value >= bound;
    }
  }
  return out;
}

// A bound that at least `count` values of the row reach, and not many more: the count-th largest of
// the block maxima.
float BoundOfLargest(const float* row, int size, int count, SamplerScratch* scratch) {
  int num_blocks = (size + kRowBlock - 1) / kRowBlock;
  if (count > num_blocks) return -std::numeric_limits<float>::infinity();
  float* block_max = Room(num_blocks, &scratch->block_max);
  BlockMax(row, size, block_max);
  std::nth_element(block_max, block_max + count - 1, block_max + num_blocks,
                   [](float a, float b) { return a > b; });
  return block_max[count - 1];
}

// Weights are positive floats, so their bits have the same order as the floats.
int32_t BitsOf(float value) {
  int32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float FromBits(int32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// The smallest set of the likeliest candidates whose measure reaches `wanted`: all candidates
// heavier than `weight`, and the first `num_equal` candidates of exactly that weight.
struct Cut {
  float weight;
  int num_equal;
};

// `measure` is a function of a RowSplit that grows with the number of values in it. Halves the
// range of weights until one is left. Each half begins at a weight that occurs, so many equal
// weights end the search early.
template <typename Measure>
Cut FindCut(const Candidates& all, double wanted, Measure measure) {
  RowSplit whole = SplitRow(all.weights, all.count, kLeastPositive);
  // `low` reaches `wanted`, `high` does not
  int32_t low = BitsOf(whole.least), high = BitsOf(2.0f);
  if (measure(whole) <= wanted) return {FromBits(low), all.count};
  double heavier = 0;  // the measure of the values that are at least `high`
  while (high - low > 1) {
    RowSplit split = SplitRow(all.weights, all.count, FromBits(low + (high - low) / 2));
    if (split.count > 0 && measure(split) >= wanted) {
      low = BitsOf(split.least);
    } else {
      high = BitsOf(split.next) + 1;
      heavier = measure(split);
    }
  }
  RowSplit one;
  one.sum = FromBits(low);
  one.count = 1;
  double missing = std::ceil((wanted - heavier) / measure(one));
  return {FromBits(low), static_cast<int>(std::clamp<double>(missing, 1, all.count))};
}

// Keeps the candidates for whose weights `keeps` is true; it is asked in the order of ids.
template <typename Keeps>
void KeepIf(Keeps keeps, Candidates* candidates) {
  int kept = 0;
  for (int i = 0; i < candidates->count; ++i) {
    float weight = candidates->weights[i];
    candidates->weights[kept] = weight;
    candidates->ids[kept] = candidates->ids[i];
    kept += keeps(weight);
  }
  candidates->count = kept;
}

void Keep(Cut cut, Candidates* candidates) {
  auto keeps = [&cut](float weight) {
    return weight > cut.weight || (weight == cut.weight && cut.num_equal-- > 0);
  };
  KeepIf(keeps, candidates);
}

void KeepTopK(int top_k, Candidates* candidates) {
  if (candidates->count <= top_k) return;
  Keep(FindCut(*candidates, top_k, [](const RowSplit& split) { return double(split.count); }),
       candidates);
}

void KeepTopP(double wanted, Candidates* candidates) {
  Keep(FindCut(*candidates, wanted, [](const RowSplit& split) { return split.sum; }), candidates);
}

// Of the tokens with at least `threshold` of the weight that is left only the least likely stays,
// and what is equally likely.
void ExcludeTop(double threshold, Candidates* candidates) {
  const float* weights = candidates->weights;
  double bound = threshold * SumOfRow(weights, candidates->count);
  float least = std::numeric_limits<float>::infinity();
  for (int i = 0; i < candidates->count; ++i) {
    if (weights[i] >= bound) least = std::min(least, weights[i]);
  }
  KeepIf([least](float weight) { return weight <= least; }, candidates);
}

// Walks along the weights and returns the index at which `uniform` falls. -1 when all weights are
// 0.
int Draw(const float* weights, int count, double uniform) {
  double left = uniform * SumOfRow(weights, count);
  int last = -1;
  for (int chunk = 0; chunk < count; chunk += kRowChunk) {
    int end = std::min(count, chunk + kRowChunk);
    double sum = SumOfRow(weights + chunk, end - chunk);
    if (sum < left && end < count) {
      left -= sum;
      continue;
    }
    for (int i = chunk; i < end; ++i) {
      if (weights[i] <= 0) continue;
      last = i;
      left -= weights[i];
      if (left < 0) return i;
    }
  }
  while (last < 0 && count > 0 && weights[count - 1] <= 0) --count;
  return last < 0 ? count - 1 : last;
}

int32_t DrawFrom(const Candidates& candidates, double uniform) {
  return candidates.ids[Draw(candidates.weights, candidates.count, uniform)];
}

// With top_k only few tokens are left, and only these need weights.
int32_t SampleTopK(const SamplingParams& params, const float* logits, int vocab_size, float max,
                   DrawNumbers numbers, SamplerScratch* scratch) {
  float bound = BoundOfLargest(logits, vocab_size, params.top_k, scratch);
  Candidates left = Collect(logits, vocab_size, bound, scratch);
  float scale = static_cast<float>(1 / params.temperature);
  (void)ExpOfRow(left.weights, left.count, max, scale, left.weights);
  Keep({kLeastPositive, left.count}, &left);
  KeepTopK(params.top_k, &left);
  if (params.top_p < 1) {
    KeepTopP(params.top_p * SumOfRow(left.weights, left.count), &left);
  }
  if (params.min_p > 0) Keep({static_cast<float>(params.min_p), left.count}, &left);
  if (numbers.excludes_top) ExcludeTop(params.xtc_threshold, &left);
  return DrawFrom(left, numbers.uniform);
}

int32_t SampleAll(const SamplingParams& params, const float* logits, int vocab_size, float max,
                  DrawNumbers numbers, SamplerScratch* scratch) {
  float* weights = Room(vocab_size, &scratch->weights);
  double total =
      ExpOfRow(logits, vocab_size, max, static_cast<float>(1 / params.temperature), weights);
  float min_p = static_cast<float>(params.min_p);
  if (params.top_p >= 1 && min_p <= 0 && !numbers.excludes_top) {
    return Draw(weights, vocab_size, numbers.uniform);
  }
  // All tokens with less weight than this, together, are not needed to reach top_p.
  double spare = (1 - std::min(1.0, params.top_p)) * total / vocab_size;
  float bound = std::max({static_cast<float>(0.99 * spare), min_p, kLeastPositive});
  Candidates left = Collect(weights, vocab_size, bound, scratch);
  if (params.top_p < 1) KeepTopP(params.top_p * total, &left);
  if (numbers.excludes_top) ExcludeTop(params.xtc_threshold, &left);
  return DrawFrom(left, numbers.uniform);
}

}  // namespace

Status NoToken() {
  return Internal(
      "the model's output is not a number, or leaves no token to choose; its weights "
      "may be damaged");
}

TokenLogprobs ComputeLogprobs(const float* logits, int vocab_size, int32_t token, int num_top,
                              SamplerScratch* scratch) {
  float max = MaxOfRow(logits, vocab_size).value;
  double sum = ExpOfRow(logits, vocab_size, max, 1.0f, Room(vocab_size, &scratch->weights));
  double log_sum = std::log(sum);
  auto logprob = [&](int32_t id) {
    return static_cast<float>(static_cast<double>(logits[id]) - max - log_sum);
  };
  TokenLogprobs out;
  out.chosen = logprob(token);
  int count = std::min(num_top, vocab_size);
  if (count <= 0) return out;
  float bound = BoundOfLargest(logits, vocab_size, count, scratch);
  Candidates likely = Collect(logits, vocab_size, bound, scratch);
  count = std::min(count, likely.count);
  std::partial_sort(likely.ids, likely.ids + count, likely.ids + likely.count,
                    [logits](int32_t a, int32_t b) {
                      return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
                    });
  for (int i = 0; i < count; ++i) out.top.emplace_back(likely.ids[i], logprob(likely.ids[i]));
  return out;
}

DrawNumbers NumbersFor(const SamplingParams& params, double uniform) {
  double share = params.xtc_probability;
  if (share <= 0) return {false, uniform};
  if (uniform < share) return {true, uniform / share};
  return {false, (uniform - share) / (1 - share)};
}

Result<int32_t> SampleToken(const SamplingParams& params, const float* logits, int vocab_size,
                            double uniform, SamplerScratch* scratch) {
  RowMax max = MaxOfRow(logits, vocab_size);
  if (max.index < 0 || std::isinf(max.value)) return NoToken();
  if (params.is_greedy() || params.top_k == 1) return max.index;
  bool few = params.top_k > 0 && params.top_k < vocab_size;
  return (few ? SampleTopK : SampleAll)(params, logits, vocab_size, max.value,
                                        NumbersFor(params, uniform), scratch);
}

}  // namespace mlc
