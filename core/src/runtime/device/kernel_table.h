// The kernels of a device module, in the form that TVM writes into a model library.
#pragma once

#include <tvm/ffi/c_api.h>

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc {

// The size of a launch: the number of work-groups, and of work-items in each group.
struct LaunchSize {
  std::array<size_t, 3> groups = {1, 1, 1}, items = {1, 1, 1};
  bool empty = false;  // there is no work-group
};

struct KernelInfo {
  std::string name;
  std::vector<DLDataType> args;  // each is a device pointer or a number
  std::vector<int> extents;      // after the arguments: 0..2 groups x, y, z; 3..5 items x, y, z
  // for each pointer, if the module says it: whether the kernel writes to it
  std::vector<bool> writes;
  // The launch size of a call. `arguments` are the args, then the extents.
  LaunchSize SizeOf(const TVMFFIAny* arguments) const;
  int num_arguments() const { return static_cast<int>(args.size() + extents.size()); }
};

struct KernelTable {
  std::string format;  // format of the code: "cl", ...
  std::map<std::string, KernelInfo> kernels;
  std::string code;                            // one text for all kernels, or
  std::map<std::string, std::string> sources;  // one text for each kernel, by its name in `kernels`
};

// Reads the serialized form of TVM's device modules: little-endian, with 64-bit lengths before
// texts and lists. Errors: kCorrupt; kUnsupported for kernels that need a feature that none of our
// backends has.
Result<KernelTable> ParseKernelTable(std::string_view bytes);

// The same for WebGPU modules, which have a source for each kernel and say what each kernel writes.
Result<KernelTable> ParseWgslTable(std::string_view bytes);

}  // namespace mlc
