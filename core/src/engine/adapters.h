// The adapters that requests may choose by name, and who uses which group of ranks of the pool.
//
// A request holds what it uses. So an adapter that was unloaded or replaced keeps its groups until
// the last of its requests has ended. Its key is made of its content: what a cache holds of another
// adapter, or of an older one of the same name, is never found.
//
//   MLC_ASSIGN_OR_RETURN(auto adapter, table.Take("style", weights));
//   MLC_RETURN_IF_ERROR(model->WriteAdapter(adapter->groups, weights));
//   MLC_RETURN_IF_ERROR(table.Put(adapter));
//   MLC_ASSIGN_OR_RETURN(AdapterUses uses, table.Find({{"style", 1.0f}}));
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/model.h"

namespace mlc {

struct LoadedAdapter {
  std::string name;
  uint64_t hash = 0;  // of its content
  int rank = 0;
  std::vector<int32_t> groups;
};
using AdapterHandle = std::shared_ptr<const LoadedAdapter>;

// The adapters of a request, in its order; their changes add up.
struct AdapterUse {
  AdapterHandle adapter;
  float scale = 1;
};
using AdapterUses = std::vector<AdapterUse>;

// What separates the keys and values of these adapters from others (Request::adapter). 0: none.
uint64_t KeyOf(const AdapterUses& uses);

// The rows [begin, end) of a batch have these adapters.
struct AdaptedRows {
  int begin = 0, end = 0;
  uint64_t key = 0;
  const AdapterUses* uses = nullptr;
};
// Adds them to the batch. Neighbours with one key read the weights together.
void AddAdapters(const std::vector<AdaptedRows>& rows, Batch* batch);

// May be used from any thread.
class AdapterTable {
 public:
  // `max_adapters`: how many may be found at the same time.
  explicit AdapterTable(int num_groups, int max_adapters = std::numeric_limits<int>::max());

  // Takes groups for an adapter, which cannot be found yet. They go back when the last handle is
  // gone. kResourceExhausted when there are too few.
  Result<AdapterHandle> Take(const std::string& name, const AdapterWeights& weights);
  // Lets requests find it, in place of one with the same name. kResourceExhausted when there would
  // be too many.
  Status Put(AdapterHandle adapter);
  // Errors, of param `lora`: kNotFound; kInvalidArgument when a name comes twice.
  Result<AdapterUses> Find(const std::vector<std::pair<std::string, float>>& names) const;
  // kNotFound when there is none.
  Status Remove(const std::string& name);
  std::vector<AdapterHandle> List() const;  // in the order of names
  int num_ranks() const;
  int num_free_ranks() const;

 private:
  struct Groups {
    std::mutex mutex;
    std::vector<int32_t> free;
  };
  std::shared_ptr<Groups> groups_;  // handles may live longer than the table
  int num_groups_, max_adapters_;
  mutable std::mutex mutex_;
  std::map<std::string, AdapterHandle> adapters_;
};

}  // namespace mlc
