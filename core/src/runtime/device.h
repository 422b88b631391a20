// Which devices this process can run on.
#ifndef MLC_RUNTIME_DEVICE_H_
#define MLC_RUNTIME_DEVICE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc {

struct Device {
  int type = 1;  // DLPack's device type; 1 is the CPU
  int index = 0;
  std::string kind() const;  // "cpu"; of "vulkan" it is "webgpu", which drives it
  std::string name() const;  // "cpu:0"
};

struct DeviceProbe {
  std::string name;  // "cuda:0"
  bool found = false;
  std::string reason;  // why not, when not found
  // What the driver says of it; zeros and "" where nobody says.
  std::string description;
  int64_t memory_bytes = 0, max_buffer_bytes = 0, local_memory_bytes = 0, max_group_size = 0;
  bool f16 = false;
  // The CPU, driven as something else: slower than `cpu`, so that `auto` passes over it.
  bool is_processor = false;
};

// Every known kind in the order in which `auto` tries them, up to the CPU; several devices of a
// kind one after another. A backend with a plugin (device/) is opened to ask it.
std::vector<DeviceProbe> ProbeDevices();

struct ChosenDevice {
  Device device;
  std::vector<DeviceProbe> probes;  // what was looked at on the way; the last one was taken
  const std::string& name() const { return probes.back().name; }  // "vulkan:0", as it was asked for
};

// "auto", "cpu", "cpu:0", "opencl:1". Only drivers of the kinds in question are opened. Errors:
// kInvalidArgument for an unknown name, kNotFound for a device that is not here, with the reason.
Result<ChosenDevice> ChooseDevice(std::string_view text);
Result<Device> ParseDevice(std::string_view text);  // the same, the device alone

// Memory of the device that can be taken; all of the host's where a device shares it.
int64_t AvailableMemoryBytes(Device device);

// What the device takes in one piece; 0 where nobody says.
int64_t LargestTensorBytes(Device device);

}  // namespace mlc

#endif  // MLC_RUNTIME_DEVICE_H_
