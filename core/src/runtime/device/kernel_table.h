// The kernels of a device module, as TVM writes them into a model library.
#ifndef MLC_RUNTIME_DEVICE_KERNEL_TABLE_H_
#define MLC_RUNTIME_DEVICE_KERNEL_TABLE_H_

#include <tvm/ffi/c_api.h>

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc {

// How often a kernel runs: work-groups, and work-items in each.
struct LaunchSize {
  std::array<size_t, 3> groups = {1, 1, 1}, items = {1, 1, 1};
  bool empty = false;  // no work-group at all
};

struct KernelInfo {
  std::string name;
  std::vector<DLDataType> args;  // a device pointer or a number each
  std::vector<int> extents;      // behind the arguments: 0..2 groups x, y, z; 3..5 items x, y, z
  std::vector<bool> writes;  // for each pointer, where the module says it: whether it is written
  // Of a call with `arguments`: args, then extents.
  LaunchSize SizeOf(const TVMFFIAny* arguments) const;
  int num_arguments() const { return static_cast<int>(args.size() + extents.size()); }
};

struct KernelTable {
  std::string format;  // of the code: "cl", ...
  std::map<std::string, KernelInfo> kernels;
  std::string code;                            // of all kernels, or
  std::map<std::string, std::string> sources;  // of each, by the names of `kernels`
};

// Reads what TVM's device modules serialize to: little-endian, lengths of 64 bits before texts and
// lists. Errors: kCorrupt; kUnsupported for kernels that want what no backend of ours offers.
Result<KernelTable> ParseKernelTable(std::string_view bytes);

// The same for WebGPU's modules, which hold a source for each kernel and say what each writes.
Result<KernelTable> ParseWgslTable(std::string_view bytes);

}  // namespace mlc

#endif  // MLC_RUNTIME_DEVICE_KERNEL_TABLE_H_
