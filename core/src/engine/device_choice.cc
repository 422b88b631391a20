#include "engine/device_choice.h"

#include <algorithm>
#include <cmath>

namespace mlc {
namespace {

// Several choices that begin at the end of one prompt use the same row.
bool IsShared(const StepItem& item) {
  const RequestState& request = *item.sequence->request;
  return request.request.n > 1 && item.sequence->choice == 0 && !request.first_token;
}

// A token is forced, there are no drafts, and nobody asks how probable it is. So the logits are not
// needed.
bool NeedsNoLogits(const StepItem& item) {
  return item.drafts.empty() && item.num_scored == 0 && item.sequence->ForcedToken().has_value() &&
         !item.sequence->request->request.sampling.logprobs;
}

bool IsForDevice(const StepItem& item) {
  const Request& request = item.sequence->request->request;
  bool needs_host = request.sampling.logprobs || request.logit_processor != nullptr;
  return item.wants_logits && item.num_scored == 0 && !needs_host && !IsShared(item) &&
         !item.sequence->ForcedToken() && !item.drafts.has_branches();
}

// Adds the tasks of an item whose first row is `row`. No task follows a draft that ends the answer.
Status AddTasks(const StepItem& item, int vocab_size, int row, std::vector<SampleTask>* tasks) {
  Sequence* sequence = item.sequence.get();
  size_t first = tasks->size();
  Status status;
  for (int i = 0; status.ok() && i <= item.drafts.size(); ++i) {
    if (i > 0) sequence->PushDraft(item.drafts[i - 1]);
    if (sequence->drafts_ended()) break;
    Result<SampleTask> task = MakeSampleTask(vocab_size, row + i, sequence);
    status = task.status();
    if (task.ok()) tasks->push_back(*std::move(task));
  }
  sequence->PopDrafts();
  if (!status.ok()) tasks->resize(first);
  return status;
}

}  // namespace

Result<SampleTask> MakeSampleTask(int vocab_size, int row, Sequence* sequence) {
  const SamplingParams& params = sequence->request->request.sampling;
  SampleTask task;
  task.row = row;
  task.limit = vocab_size;
  task.changes = sequence->Changes(vocab_size);
  if (sequence->has_grammar()) {
    MLC_ASSIGN_OR_RETURN(const std::vector<int32_t>* mask, sequence->NextMask());
    task.mask = *mask;
    task.mask.resize((static_cast<size_t>(vocab_size) + 31) / 32);
  }
  task.top_k = params.is_greedy() ? 1 : std::max(0, params.top_k);
  task.scale = params.is_greedy() ? 1 : static_cast<float>(1 / params.temperature);
  task.top_p = static_cast<float>(params.top_p);
  task.min_p = static_cast<float>(params.min_p);
  task.top_n_sigma = params.narrows_by_sigma() ? static_cast<float>(params.top_n_sigma) : 0;
  DrawNumbers numbers = NumbersFor(params, sequence->NextUniform());
  if (numbers.excludes_top) task.xtc_threshold = static_cast<float>(params.xtc_threshold);
  task.uniform = std::min(static_cast<float>(numbers.uniform), std::nextafter(1.0f, 0.0f));
  return task;
}

bool DeviceChoice::IsFor(const std::vector<StepItem>& items) const {
  return sampler_ != nullptr && std::any_of(items.begin(), items.end(), IsForDevice);
}

Result<std::vector<ItemLogits>> DeviceChoice::Assign(const std::vector<StepItem>& items,
                                                     const float* logits) {
  if (logits == nullptr && IsFor(items)) return AssignKept(items);
  std::vector<ItemLogits> assigned;
  for (const StepItem& item : items) {
    assigned.push_back({logits});
    if (logits != nullptr) logits += item.num_logit_rows() * static_cast<size_t>(rows_.stride);
  }
  return assigned;
}

Result<std::vector<ItemLogits>> DeviceChoice::AssignKept(const std::vector<StepItem>& items) {
  std::vector<SampleTask> tasks;
  std::vector<size_t> num_tasks(items.size());  // for each item
  std::vector<int32_t> host_rows;
  std::vector<bool> on_host(items.size());
  int row = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const StepItem& item = items[i];
    int num_rows = static_cast<int>(item.num_logit_rows()), end = row + num_rows;
    size_t before = tasks.size();
    // If a mask cannot be filled, the commit tries again and reports the error.
    bool is_task = IsForDevice(item) && AddTasks(item, rows_.vocab_size, row, &tasks).ok();
    num_tasks[i] = tasks.size() - before;
    on_host[i] = num_rows > 0 && !is_task && !NeedsNoLogits(item);
    for (; row < end; ++row) {
      if (on_host[i]) host_rows.push_back(row);
    }
  }
  host_rows_.resize(std::max(host_rows_.size(), host_rows.size() * rows_.stride));
  MLC_RETURN_IF_ERROR(sampler_->ReadRows(host_rows, host_rows_.data()));
  MLC_ASSIGN_OR_RETURN(std::vector<int32_t> tokens, sampler_->Sample(tasks));
  std::vector<ItemLogits> assigned(items.size());
  const float* logits = host_rows_.data();
  auto token = tokens.begin();
  for (size_t i = 0; i < items.size(); ++i) {
    auto end = token + static_cast<std::ptrdiff_t>(num_tasks[i]);
    assigned[i].chosen.assign(token, end);
    token = end;
    if (!on_host[i]) continue;
    assigned[i].logits = logits;
    logits += items[i].num_logit_rows() * static_cast<size_t>(rows_.stride);
  }
  return assigned;
}

}  // namespace mlc
