// The devices on which this process can run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc {

struct Device {
  int type = 1;  // DLPack's device type; 1 is the CPU
  int index = 0;
  std::string kind() const;  // "cpu"; "webgpu" also for "vulkan"
  std::string name() const;  // "cpu:0"
};

struct DeviceProbe {
  std::string name;  // "cuda:0"
  bool found = false;
  std::string reason;  // if not found: the reason
  // What the driver tells about it; zeros and "" if it tells nothing.
  std::string description;
  int64_t memory_bytes = 0, max_buffer_bytes = 0, local_memory_bytes = 0, max_group_size = 0;
  bool f16 = false;
  // It is the CPU behind a GPU driver. It is slower than `cpu`, so `auto` does not choose it.
  bool is_processor = false;
  bool has_own_memory = false;  // which is not the host's
};

// All known kinds, in the order in which `auto` tries them, up to the CPU. The devices of one kind
// follow one another. If a backend has a plugin (device/), the plugin is opened.
std::vector<DeviceProbe> ProbeDevices();

struct ChosenDevice {
  Device device;
  std::vector<DeviceProbe> probes;  // the devices that were looked at; the last one was chosen
  // the name that the caller used: "vulkan:0"
  const std::string& name() const { return probes.back().name; }
};

// Accepts "auto", "cpu", "cpu:0", "opencl:1". Opens only the drivers of the kinds that the text can
// mean. Errors: kInvalidArgument for an unknown name; kUnavailable, with the reason, for a device
// that is not here.
Result<ChosenDevice> ChooseDevice(std::string_view text);
Result<Device> ParseDevice(std::string_view text);  // the same; returns only the device

// The device memory that can be allocated. If the device shares the host's memory, all of the
// host's.
int64_t AvailableMemoryBytes(Device device);

// Whether that memory is not the host's.
bool HasOwnMemory(Device device);

// The largest size of one tensor on the device; 0 if it is not known.
int64_t LargestTensorBytes(Device device);

}  // namespace mlc
