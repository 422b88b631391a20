// Launches that are recorded once and replayed together: CUDA graphs, and HIP's, whose functions
// have the same names but for the prefix.
#pragma once

#include <tvm/ffi/c_api.h>

namespace mlc {

struct GraphVendor {
  const char* device;  // "cuda"
  DLDeviceType type;
  const char* prefix;  // of its functions
  void* (*library)();  // that has them; null: there is none
};

// Registers mlc.DEVICE.record(device index, act) -> replay. `act` and `replay` have no arguments.
// `act` is called once; its launches on the device are recorded and not run. It must not allocate,
// wait or copy from the host. `replay` launches all of them again, with the same addresses and
// numbers, on the calling thread's stream. Throws the errors of `act` and of the driver; the device
// is unchanged then. `vendor` is kept.
void RegisterRecord(const GraphVendor* vendor);

}  // namespace mlc
