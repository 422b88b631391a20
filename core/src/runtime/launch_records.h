// Launches of a program on a device, recorded so that they can be replayed as one: CUDA graphs.
// Included inside runtime/ only.
#ifndef MLC_RUNTIME_LAUNCH_RECORDS_H_
#define MLC_RUNTIME_LAUNCH_RECORDS_H_

#include <tvm/ffi/function.h>

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "runtime/device.h"

namespace mlc {

// By the run-time sizes of a run. A record repeats addresses and numbers, so that it holds as long
// as sizes alone decide on them: `memory`, a number of the memory where all temporaries lie, must
// be the one of before.
class LaunchRecords {
 public:
  LaunchRecords() = default;
  // Where the device's plugin has `mlc.DEVICE.record`; else every Replay is false.
  explicit LaunchRecords(Device device);

  // Whether the launches were made, by replaying them. Sizes of a first run are not recorded: a
  // driver loads kernels when they are first launched, which cannot be recorded. Where recording
  // fails, that is said on standard error, and nothing is recorded any more.
  bool Replay(const std::vector<int64_t>& sizes, int64_t memory,
              const std::function<void()>& launch);
  // Forgets everything: what launches refer to has changed.
  void Clear() { entries_.clear(); }

  int64_t num_replays() const { return num_replays_; }

 private:
  // Records take memory of the driver's; beyond so many, the one that was used longest ago goes.
  static constexpr size_t kMostRecords = 64;
  struct Entry {
    tvm::ffi::Function replay;  // null: run once, not recorded
    int64_t last_run = 0;
  };
  // The entry of these sizes, and whether it was made just now.
  std::pair<Entry*, bool> Find(const std::vector<int64_t>& sizes);

  int device_index_ = 0;
  tvm::ffi::Function record_;  // null: launches cannot be recorded
  int64_t memory_ = 0;         // that the records refer to
  std::map<std::vector<int64_t>, Entry> entries_;
  int64_t num_runs_ = 0, num_replays_ = 0;
};

}  // namespace mlc

#endif  // MLC_RUNTIME_LAUNCH_RECORDS_H_
