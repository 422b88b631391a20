// Where the shards of a model run.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "runtime/device.h"

namespace mlc {

// The CPU for all shards; or, from `first` on, a device of its kind for each. Errors: kUnavailable:
// there are fewer, or nothing is installed that connects them.
Result<std::vector<Device>> DevicesOfShards(Device first, int count);

// What all shards can allocate together, if each takes the same.
int64_t AvailableMemoryBytes(const std::vector<Device>& devices);

}  // namespace mlc
