// The devices of a backend, and what is told of each.
#ifndef MLC_RUNTIME_DEVICE_DEVICE_LIST_H_
#define MLC_RUNTIME_DEVICE_DEVICE_LIST_H_

#include <tvm/ffi/error.h>

#include <memory>
#include <string>
#include <vector>

namespace mlc {

// Facts that do not change.
struct DeviceTraits {
  std::string name, driver, description;
  std::string interface;      // "Vulkan": what a backend of several goes through
  bool is_processor = false;  // the CPU, driven as a GPU
  bool has_f16 = false;
  // Bytes: what this process may take, of one tensor, of a work-group; and a group's work-items.
  size_t memory = 0, largest_buffer = 0, local_memory = 0, group_size = 0;
};

template <typename Device>
struct DeviceListOf {
  std::vector<std::unique_ptr<Device>> devices;
  std::string problem;  // why there are none

  // Throws when there is no device of that index.
  Device& At(const char* kind, int index) const {
    if (index >= 0 && index < static_cast<int>(devices.size())) return *devices[index];
    TVM_FFI_THROW(RuntimeError) << "there is no device " << kind << ":" << index << "; "
                                << (problem.empty() ? std::to_string(devices.size()) + " found"
                                                    : problem);
  }
};

}  // namespace mlc

#endif  // MLC_RUNTIME_DEVICE_DEVICE_LIST_H_
