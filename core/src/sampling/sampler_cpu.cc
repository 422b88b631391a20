#include "sampling/sampler_cpu.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mlc {
namespace {

struct Candidate {
  double weight;  // exp((logit - max) / temperature)
  int32_t token;
};

bool MoreLikely(const Candidate& a, const Candidate& b) {
  return a.weight > b.weight || (a.weight == b.weight && a.token < b.token);
}

// The first of the largest logits; -1 when a logit is not a number or all are impossible.
int32_t ArgMax(const float* logits, int vocab_size) {
  int32_t best = 0;
  bool is_number = true;
  for (int32_t token = 0; token < vocab_size; ++token) {
    is_number &= !std::isnan(logits[token]);
    if (logits[token] > logits[best]) best = token;
  }
  return is_number && std::isfinite(logits[best]) ? best : -1;
}

Status NoToken() {
  return Internal(
      "the model's output is not a number, or leaves no token to choose; its weights "
      "may be damaged");
}

std::vector<Candidate> Weigh(const float* logits, int vocab_size, float max, double temperature) {
  std::vector<Candidate> candidates;
  candidates.reserve(static_cast<size_t>(vocab_size));
  for (int32_t token = 0; token < vocab_size; ++token) {
    double weight = std::exp((static_cast<double>(logits[token]) - max) / temperature);
    if (weight > 0) candidates.push_back({weight, token});
  }
  return candidates;
}

double TotalWeight(const std::vector<Candidate>& candidates) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  return total;
}

void KeepTopK(int top_k, std::vector<Candidate>* candidates) {
  if (top_k <= 0 || static_cast<size_t>(top_k) >= candidates->size()) return;
  std::nth_element(candidates->begin(), candidates->begin() + top_k, candidates->end(), MoreLikely);
  candidates->resize(static_cast<size_t>(top_k));
}

// Keeps the most likely tokens whose weights reach top_p of the total. Sorts only as many as it
// needs to.
void KeepTopP(double top_p, std::vector<Candidate>* candidates) {
  if (top_p >= 1) return;
  double wanted = top_p * TotalWeight(*candidates);
  double sum = 0;
  size_t sorted = 0, kept = 0;
  while (kept < candidates->size() && (kept == 0 || sum < wanted)) {
    if (kept == sorted) {
      size_t end = std::min(candidates->size(), std::max<size_t>(64, sorted * 4));
      auto first = candidates->begin() + sorted, last = candidates->begin() + end;
      std::nth_element(first, last, candidates->end(), MoreLikely);
      std::sort(first, last, MoreLikely);
      sorted = end;
    }
    sum += (*candidates)[kept++].weight;
  }
  candidates->resize(kept);
}

void KeepMinP(double min_p, std::vector<Candidate>* candidates) {
  if (min_p <= 0) return;  // the likeliest has weight 1
  auto unlikely = [min_p](const Candidate& c) { return c.weight < min_p; };
  candidates->erase(std::remove_if(candidates->begin(), candidates->end(), unlikely),
                    candidates->end());
}

int32_t Draw(std::vector<Candidate>& candidates, double uniform) {
  // In the order of ids, whatever the filters left behind.
  auto by_id = [](const Candidate& a, const Candidate& b) { return a.token < b.token; };
  if (!std::is_sorted(candidates.begin(), candidates.end(), by_id)) {
    std::sort(candidates.begin(), candidates.end(), by_id);
  }
  double left = uniform * TotalWeight(candidates);
  for (const Candidate& candidate : candidates) {
    left -= candidate.weight;
    if (left < 0) return candidate.token;
  }
  return candidates.back().token;
}

}  // namespace

TokenLogprobs ComputeLogprobs(const float* logits, int vocab_size, int32_t token, int num_top) {
  double max = *std::max_element(logits, logits + vocab_size);
  double sum = 0;
  for (int i = 0; i < vocab_size; ++i) sum += std::exp(logits[i] - max);
  double log_sum = std::log(sum);
  TokenLogprobs out;
  out.chosen = static_cast<float>(logits[token] - max - log_sum);
  std::vector<int32_t> ids(static_cast<size_t>(vocab_size));
  std::iota(ids.begin(), ids.end(), 0);
  size_t count = static_cast<size_t>(std::min(num_top, vocab_size));
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](int32_t a, int32_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  });
  for (size_t i = 0; i < count; ++i) {
    out.top.emplace_back(ids[i], static_cast<float>(logits[ids[i]] - max - log_sum));
  }
  return out;
}

Result<int32_t> SampleToken(const SamplingParams& params, const float* logits, int vocab_size,
                            double uniform) {
  int32_t best = ArgMax(logits, vocab_size);
  if (best < 0) return NoToken();
  constexpr double kGreedyBelow = 1e-6;  // exp((x - max) / t) is 0 or 1 in double precision
  if (params.temperature < kGreedyBelow || params.top_k == 1) return best;
  std::vector<Candidate> candidates = Weigh(logits, vocab_size, logits[best], params.temperature);
  KeepTopK(params.top_k, &candidates);
  KeepTopP(params.top_p, &candidates);
  KeepMinP(params.min_p, &candidates);
  return Draw(candidates, uniform);
}

}  // namespace mlc
