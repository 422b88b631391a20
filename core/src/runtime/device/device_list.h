// The devices of a backend, and their properties.
#pragma once

#include <tvm/ffi/error.h>

#include <memory>
#include <string>
#include <vector>

namespace mlc {

// Properties that do not change.
struct DeviceTraits {
  std::string name, driver, description;
  std::string interface;        // "Vulkan": the interface, for a backend with several
  std::string problem;          // why it cannot be used; the rest is not known then
  bool is_processor = false;    // it is the CPU behind a GPU driver
  bool has_own_memory = false;  // which is not the host's
  bool has_f16 = false;
  // In bytes: memory for this process, for one tensor, and for a work-group. group_size is in
  // work-items.
  size_t memory = 0, largest_buffer = 0, local_memory = 0, group_size = 0;
};

template <typename Device>
struct DeviceListOf {
  std::vector<std::unique_ptr<Device>> devices;
  std::string problem;  // the reason if there are no devices

  // Throws if there is no device with that index.
  Device& At(const char* kind, int index) const {
    if (index >= 0 && index < static_cast<int>(devices.size())) return *devices[index];
    TVM_FFI_THROW(RuntimeError) << "there is no device " << kind << ":" << index << "; "
                                << (problem.empty() ? std::to_string(devices.size()) + " found"
                                                    : problem);
  }
};

}  // namespace mlc
