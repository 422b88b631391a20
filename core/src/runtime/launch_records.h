// Records the launches of a program on a device, so that they can be replayed together: CUDA
// graphs, and HIP's. Included inside runtime/ only.
#pragma once

#include <tvm/ffi/function.h>

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "runtime/device.h"

namespace mlc {

// One record for each set of run-time sizes. A record repeats addresses and numbers. So it is valid
// only while these depend on nothing but the sizes, and while the temporaries stay in the same
// memory. `memory` is the number of that memory.
class LaunchRecords {
 public:
  LaunchRecords() = default;
  // Records if the device's plugin has `mlc.DEVICE.record`. Otherwise every Replay returns false.
  explicit LaunchRecords(Device device);

  // Replays the launches. Returns false if the caller must launch. The first run of a set of sizes
  // is not recorded: a driver loads kernels at their first launch, and loading cannot be recorded.
  // When recording fails, it prints the reason to standard error and records nothing from then on.
  bool Replay(const std::vector<int64_t>& sizes, int64_t memory,
              const std::function<void()>& launch);
  // Forgets all records, because the things that the launches use have changed.
  void Clear() { entries_.clear(); }

  int64_t num_replays() const { return num_replays_; }

 private:
  // A record needs driver memory. Above this number, the record that was unused for the longest
  // time is removed.
  static constexpr size_t kMostRecords = 64;
  struct Entry {
    tvm::ffi::Function replay;  // null: the sizes ran once, nothing is recorded
    int64_t last_run = 0;
  };
  // The entry of these sizes, and whether it is new.
  std::pair<Entry*, bool> Find(const std::vector<int64_t>& sizes);

  int device_index_ = 0;
  tvm::ffi::Function record_;  // null: this device cannot record
  int64_t memory_ = 0;         // the number of the memory that the records use
  std::map<std::vector<int64_t>, Entry> entries_;
  int64_t num_runs_ = 0, num_replays_ = 0;
};

}  // namespace mlc
