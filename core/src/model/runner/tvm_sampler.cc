#include "model/runner/tvm_sampler.h"

#include <algorithm>
#include <cstring>

#include "model/runner/library_functions.h"

namespace mlc {
namespace {

// In the order of their costs.
enum Function { kGreedy, kAll, kTopP, kTopK, kEvery };
constexpr const char* kFunctions[] = {"sample_greedy", "sample", "sample_top_p", "sample_top_k",
                                      "sample_every"};

template <typename Record>
void AppendWords(const Record& record, std::vector<int32_t>* words) {
  size_t size = words->size();
  words->resize(size + sizeof(record) / sizeof(int32_t));
  std::memcpy(words->data() + size, &record, sizeof(record));
}

// The cheapest function that can do all tasks.
Function FunctionFor(const std::vector<SampleTask>& tasks) {
  bool draws = false, top_p = false, top_k = false, others = false;
  for (const SampleTask& task : tasks) {
    if (task.top_k == 1) continue;
    draws = true;
    top_p |= task.top_p < 1;
    top_k |= task.top_k > 1 && task.top_k < task.limit;
    others |= task.top_n_sigma > 0 || task.xtc_threshold <= 1;
  }
  if (others) return kEvery;
  if (top_k) return kTopK;
  if (top_p) return kTopP;
  return draws ? kAll : kGreedy;
}

// Writes the task's own words, then puts its mask and changes into `extra`.
void Append(const SampleTask& task, std::vector<int32_t>* table, std::vector<int32_t>* extra) {
  TaskWords words = task;
  if (!task.mask.empty()) words.mask_start = static_cast<int32_t>(extra->size());
  extra->insert(extra->end(), task.mask.begin(), task.mask.end());
  words.changes_start = static_cast<int32_t>(extra->size());
  words.num_changes = static_cast<int32_t>(task.changes.size());
  for (const LogitChange& change : task.changes) AppendWords(change, extra);
  AppendWords(words, table);
}

}  // namespace

std::unique_ptr<TVMSampler> TVMSampler::For(ModelLibrary* library, const LibraryMetadata& metadata,
                                            Device device) {
  if (metadata.sampling_version != kSamplerVersion || device.kind() == "cpu") return nullptr;
  std::unique_ptr<TVMSampler> sampler(new TVMSampler(device));
  for (const char* name : kFunctions) {
    auto found = metadata.functions.find(name);
    if (found == metadata.functions.end()) return nullptr;
    sampler->functions_.emplace_back(library, found->second);
  }
  return sampler;
}

Result<std::vector<int32_t>> TVMSampler::Sample(const std::vector<SampleTask>& tasks) {
  std::vector<int32_t> tokens(tasks.size());
  if (tasks.empty()) return tokens;
  table_.clear();
  extra_.clear();
  for (const SampleTask& task : tasks) Append(task, &table_, &extra_);
  if (extra_.empty()) extra_.push_back(0);  // no device accepts an empty buffer
  int64_t count = static_cast<int64_t>(tasks.size());
  int64_t width = static_cast<int64_t>(table_.size()) / count;
  MLC_ASSIGN_OR_RETURN(Tensor table,
                       OnDevice(table_.data(), count, {width}, DType::kInt32, device_));
  MLC_ASSIGN_OR_RETURN(Tensor extra, OnDevice(extra_.data(), static_cast<int64_t>(extra_.size()),
                                              {}, DType::kInt32, device_));
  const LibraryCall& sample = functions_[FunctionFor(tasks)];
  MLC_ASSIGN_OR_RETURN(std::vector<Tensor> made,
                       sample({{kLogits, logits_}, {"tasks", table}, {"extra", extra}}));
  const Tensor& chosen = made[0];
  if (chosen.shape() != Shape{count} || chosen.dtype() != DType::kInt32) {
    return Internal("the model library's sampler returned something else than tokens");
  }
  MLC_RETURN_IF_ERROR(chosen.Read(0, tokens.data(), chosen.bytes()));
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tokens[i] < -1 || tokens[i] >= tasks[i].limit) {
      return Internal("the device chose a token that there is not");
    }
  }
  return tokens;
}

Status TVMSampler::ReadRows(const std::vector<int32_t>& rows, float* to) {
  int64_t row_bytes = logits_.bytes() / std::max<int64_t>(1, logits_.shape()[0]);
  for (size_t first = 0; first < rows.size();) {
    size_t end = first + 1;  // end of a run of adjacent rows, which one read copies
    while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
    int64_t bytes = row_bytes * static_cast<int64_t>(end - first);
    MLC_RETURN_IF_ERROR(logits_.Read(rows[first] * row_bytes, to, bytes));
    to += bytes / static_cast<int64_t>(sizeof(float));
    first = end;
  }
  return Status();
}

}  // namespace mlc
