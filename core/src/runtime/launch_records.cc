#include "runtime/launch_records.h"

#include <cstdio>
#include <optional>

#include "runtime/tvm_convert.h"

namespace mlc {

LaunchRecords::LaunchRecords(Device device) : device_index_(device.index) {
  std::string name = "mlc." + device.kind() + ".record";
  std::optional<tvm::ffi::Function> record = tvm::ffi::Function::GetGlobal(name);
  if (record) record_ = *record;
}

bool LaunchRecords::Replay(const std::vector<int64_t>& sizes, int64_t memory,
                           const std::function<void()>& launch) {
  if (record_ == nullptr) return false;
  if (memory_ != memory || replays_.size() >= kMostRecords) replays_.clear();
  memory_ = memory;
  auto [entry, is_first] = replays_.try_emplace(sizes, nullptr);
  if (is_first) return false;
  tvm::ffi::Function& replay = entry->second;
  if (replay == nullptr) {
    Status status = CatchTvm("recording", [&] {
      auto act = tvm::ffi::Function::FromTyped([&launch] { launch(); });
      replay = record_(device_index_, act).cast<tvm::ffi::Function>();
    });
    if (!status.ok()) {
      std::fprintf(stderr, "mlc_llm: steps are launched kernel by kernel: %s\n",
                   status.message().c_str());
      record_ = tvm::ffi::Function(nullptr);
      replays_.clear();
      return false;
    }
  }
  replay();
  ++num_replays_;
  return true;
}

}  // namespace mlc
