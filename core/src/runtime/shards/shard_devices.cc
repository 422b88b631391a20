#include "runtime/shards/shard_devices.h"

#include <algorithm>
#include <string>

#include "platform/host.h"
#include "runtime/shards/nccl_collective.h"

namespace mlc {

Result<std::vector<Device>> DevicesOfShards(Device first, int count) {
  if (count > 1 && !kHasThreads) {
    return Unsupported(
               "several shards need threads, which a browser does not give; use "
               "--tensor-parallel-shards 1")
        .WithParam("tensor_parallel_shards");
  }
  std::vector<Device> devices(static_cast<size_t>(count), first);
  if (first.kind() == "cpu" || count == 1) return devices;
  for (int rank = 0; rank < count; ++rank) {
    Device& device = devices[static_cast<size_t>(rank)];
    device.index += rank;
    Result<Device> found = ParseDevice(device.name());
    if (found.ok()) continue;
    return Unavailable(std::to_string(count) + " shards need as many devices from " + first.name() +
                       " on, and there is no " + device.name() + " (" + found.status().message() +
                       "); use fewer shards (--tensor-parallel-shards)")
        .WithParam("tensor_parallel_shards");
  }
  if (NcclCollective::IsFor(first)) MLC_RETURN_IF_ERROR(NcclCollective::Check(first));
  return devices;
}

int64_t AvailableMemoryBytes(const std::vector<Device>& devices) {
  Device first = devices.front();
  Result<ChosenDevice> choice = ChooseDevice(first.name());
  bool is_shared = first.kind() == "cpu" || (choice.ok() && choice->probes.back().is_processor);
  if (is_shared) return AvailableMemoryBytes(first);
  int64_t least = INT64_MAX;
  for (Device device : devices) least = std::min(least, AvailableMemoryBytes(device));
  int64_t all = 0, count = static_cast<int64_t>(devices.size());
  return __builtin_mul_overflow(least, count, &all) ? INT64_MAX : all;
}

}  // namespace mlc
