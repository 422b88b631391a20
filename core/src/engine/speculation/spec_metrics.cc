#include "engine/speculation/spec_metrics.h"

#include <algorithm>

namespace mlc {
namespace {

std::string Label(const char* name, size_t step) {
  return std::string(name) + "{step=" + std::to_string(step) + "}";
}

Json Counts(const std::vector<int64_t>& counts) {
  Json out = Json::MakeArray();
  for (int64_t count : counts) out.Append(count);
  return out;
}

double Share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

void SpecMetrics::AddDrafts(int num_drafts, int num_accepted) {
  size_t size = std::max(draft_count.size(), static_cast<size_t>(num_drafts) + 1);
  draft_count.resize(size);
  accept_count.resize(size);
  for (int i = 0; i <= num_drafts; ++i) ++draft_count[static_cast<size_t>(i)];
  for (int i = 0; i <= num_accepted; ++i) ++accept_count[static_cast<size_t>(i)];
}

void SpecMetrics::AddTo(Json* metrics) const {
  auto set = [&](const char* name, const Total& total) {
    if (total.drafts == 0) return;
    metrics->Set(name, Json().Set("draft_count", total.drafts).Set("accept_count", total.accepted));
  };
  set("jump_forward", jump_forward);
  set("prediction", prediction);
  set("prompt_lookup", prompt_lookup);
  if (all.drafted > 0) {
    metrics->Set("drafted_tokens_sum", all.drafted).Set("accepted_draft_tokens_sum", all.accepted);
    if (auto times = all.times()) metrics->Set("draft_gain", *times);
  }
  if (draft_count.empty() && failure.empty()) return;
  metrics->Set("spec_decode", ToJson())
      .Set("draft_time_by_batch_size", TimesJson(draft_times))
      .Set("verify_time_by_batch_size", TimesJson(verify_times));
}

Json SpecMetrics::ToJson() const {
  Json prob = Json::MakeObject(), rate = Json::MakeObject(), length = Json::MakeObject();
  double sum = 0;
  for (size_t i = 0; i < draft_count.size(); ++i) {
    double share = Share(accept_count[i], draft_count[i]);
    sum += share;
    prob.Set(Label("accept_prob", i), share);
    length.Set(Label("accept_len", i), sum);
    if (i > 0) rate.Set(Label("accept_rate", i), Share(accept_count[i], accept_count[i - 1]));
  }
  Json out;
  out.Set("draft_count", Counts(draft_count)).Set("accept_count", Counts(accept_count));
  out.Set("accept_prob", std::move(prob)).Set("accept_rate", std::move(rate));
  out.Set("accept_len", std::move(length));
  if (!failure.empty()) out.Set("failure", failure);
  return out;
}

Json SpecMetrics::TimesJson(const std::map<int, Times>& times) {
  Json out = Json::MakeObject();
  for (const auto& [size, time] : times) {
    std::string label = "{batch_size=" + std::to_string(size) + "}";
    out.Set("mean" + label, time.seconds / static_cast<double>(std::max<int64_t>(1, time.count)));
    out.Set("count" + label, time.count);
  }
  return out;
}

}  // namespace mlc
