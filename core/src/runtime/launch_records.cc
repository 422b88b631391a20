#include "runtime/launch_records.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "runtime/tvm_convert.h"

namespace mlc {

LaunchRecords::LaunchRecords(Device device) : device_index_(device.index) {
  std::string name = "mlc." + device.kind() + ".record";
  std::optional<tvm::ffi::Function> record = tvm::ffi::Function::GetGlobal(name);
  if (record) record_ = *record;
}

std::pair<LaunchRecords::Entry*, bool> LaunchRecords::Find(const std::vector<int64_t>& sizes) {
  auto found = entries_.find(sizes);
  bool is_first = found == entries_.end();
  if (is_first) {
    if (entries_.size() >= kMostRecords) {
      entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](auto& a, auto& b) {
        return a.second.last_run < b.second.last_run;
      }));
    }
    found = entries_.try_emplace(sizes).first;
  }
  found->second.last_run = ++num_runs_;
  return {&found->second, is_first};
}

bool LaunchRecords::Replay(const std::vector<int64_t>& sizes, int64_t memory,
                           const std::function<void()>& launch) {
  if (record_ == nullptr) return false;
  if (memory_ != memory) Clear();
  memory_ = memory;
  auto [entry, is_first] = Find(sizes);
  if (is_first) return false;
  tvm::ffi::Function& replay = entry->replay;
  if (replay == nullptr) {
    Status status = CatchTvm("recording", [&] {
      auto act = tvm::ffi::Function::FromTyped([&launch] { launch(); });
      replay = record_(device_index_, act).cast<tvm::ffi::Function>();
    });
    if (!status.ok()) {
      std::fprintf(stderr, "mlc_llm: steps are launched kernel by kernel: %s\n",
                   status.message().c_str());
      record_ = tvm::ffi::Function(nullptr);
      Clear();
      return false;
    }
  }
  replay();
  ++num_replays_;
  return true;
}

}  // namespace mlc
