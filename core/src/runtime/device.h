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
  std::string name() const;  // "cpu:0"
};

struct DeviceProbe {
  std::string name;  // "cuda:0"
  bool found = false;
  std::string reason;  // why not, when not found
};

// Every known kind in the order in which `auto` tries them.
std::vector<DeviceProbe> ProbeDevices();

// "auto", "cpu" or "cpu:0". Errors: kInvalidArgument for an unknown name, kNotFound for a device
// that is not here, with the reason.
Result<Device> ParseDevice(std::string_view text);

// Processor cores that this process may use; hardware threads of one core count once.
int NumAvailableCores();

// Host memory that can be taken without swapping.
int64_t AvailableMemoryBytes();

// Gives the system back what was freed: glibc keeps it, in pieces that the next step does not fit.
// Takes about a millisecond. Does nothing with other C libraries.
void ReleaseFreeMemory();

}  // namespace mlc

#endif  // MLC_RUNTIME_DEVICE_H_
