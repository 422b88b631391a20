#include "engine/adapters.h"

#include <algorithm>
#include <iterator>

#include "base/half.h"
#include "base/hash.h"

namespace mlc {
namespace {

Status NoAdapter(const std::string& name) {
  return NotFound("no adapter '" + name + "' is loaded; load it first (adapters.load)")
      .WithReason(Reason::kAdapterNotFound);
}

}  // namespace

uint64_t KeyOf(const AdapterUses& uses) {
  if (uses.empty()) return 0;
  std::string text;
  for (const AdapterUse& use : uses) {
    text += HexText(use.adapter->hash) + HexText(BitsOfFloat(use.scale));
  }
  return std::max<uint64_t>(1, HashWords(text));
}

void AddAdapters(const std::vector<AdaptedRows>& rows, Batch* batch) {
  for (size_t i = 0, next = 0; i < rows.size(); i = next) {
    for (next = i + 1; next < rows.size() && rows[next].key == rows[i].key;) ++next;
    if (rows[i].uses->empty()) continue;
    auto each_row = [&](auto body) {
      for (size_t span = i; span < next; ++span) {
        for (int row = rows[span].begin; row < rows[span].end; ++row) body(row);
      }
    };
    for (const AdapterUse& use : *rows[i].uses) {
      for (int32_t group : use.adapter->groups) {
        each_row([&](int row) {
          batch->adapter_rows.push_back(row);
          batch->adapter_groups.push_back(group);
          batch->adapter_scales.push_back(static_cast<int32_t>(BitsOfFloat(use.scale)));
        });
      }
    }
  }
}

AdapterTable::AdapterTable(int num_groups, int max_adapters)
    : groups_(std::make_shared<Groups>()), num_groups_(num_groups), max_adapters_(max_adapters) {
  for (int32_t group = num_groups - 1; group >= 0; --group) groups_->free.push_back(group);
}

Result<AdapterHandle> AdapterTable::Take(const std::string& name, const AdapterWeights& weights) {
  auto count = static_cast<std::ptrdiff_t>(weights.num_groups);
  std::lock_guard<std::mutex> lock(groups_->mutex);
  std::vector<int32_t>& free = groups_->free;
  if (count > static_cast<std::ptrdiff_t>(free.size())) {
    constexpr int kRanks = AdapterSpec::kRanks;
    return ResourceExhausted("the adapter takes " + std::to_string(kRanks * count) +
                             " ranks, and " + std::to_string(kRanks * free.size()) + " of " +
                             std::to_string(kRanks * num_groups_) +
                             " are free; unload another one, or load the engine with more "
                             "'lora_ranks'")
        .WithParam("path")
        .WithReason(Reason::kAdaptersFull);
  }
  LoadedAdapter taken{name, weights.hash, weights.rank, {free.rbegin(), free.rbegin() + count}};
  free.erase(free.end() - count, free.end());
  auto give_back = [groups = groups_](const LoadedAdapter* gone) {
    std::lock_guard<std::mutex> guard(groups->mutex);
    groups->free.insert(groups->free.end(), gone->groups.begin(), gone->groups.end());
    delete gone;
  };
  return AdapterHandle(new LoadedAdapter(std::move(taken)), std::move(give_back));
}

Status AdapterTable::Put(AdapterHandle adapter) {  // what it replaces is destroyed without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = adapters_.find(adapter->name);
  if (found == adapters_.end()) {
    if (static_cast<int>(adapters_.size()) >= max_adapters_) {
      return ResourceExhausted(std::to_string(adapters_.size()) +
                               " adapters are loaded, as many as 'max_loras' allows; unload one, "
                               "or load the engine with a larger 'max_loras'")
          .WithParam("name")
          .WithReason(Reason::kAdaptersFull);
    }
    found = adapters_.emplace(adapter->name, nullptr).first;
  }
  found->second.swap(adapter);
  return Status();
}

Result<AdapterUses> AdapterTable::Find(
    const std::vector<std::pair<std::string, float>>& names) const {
  std::lock_guard<std::mutex> lock(mutex_);
  AdapterUses uses;
  for (const auto& [name, scale] : names) {
    auto found = adapters_.find(name);
    if (found == adapters_.end()) return NoAdapter(name).WithParam("lora");
    for (const AdapterUse& use : uses) {
      if (use.adapter == found->second) {
        return InvalidArgument("the adapter '" + name + "' is named twice").WithParam("lora");
      }
    }
    uses.push_back({found->second, scale});
  }
  return uses;
}

Status AdapterTable::Remove(const std::string& name) {
  AdapterHandle gone;  // destroyed without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = adapters_.find(name);
  if (found == adapters_.end()) return NoAdapter(name).WithParam("name");
  gone.swap(found->second);
  adapters_.erase(found);
  return Status();
}

std::vector<AdapterHandle> AdapterTable::List() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<AdapterHandle> list;
  std::transform(adapters_.begin(), adapters_.end(), std::back_inserter(list),
                 [](const auto& entry) { return entry.second; });
  return list;
}

int AdapterTable::num_ranks() const { return AdapterSpec::kRanks * num_groups_; }

int AdapterTable::num_free_ranks() const {
  std::lock_guard<std::mutex> lock(groups_->mutex);
  return AdapterSpec::kRanks * static_cast<int>(groups_->free.size());
}

}  // namespace mlc
