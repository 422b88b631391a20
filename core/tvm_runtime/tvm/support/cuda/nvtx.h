// Ranges for NVIDIA's profiler, which TVM's sources open. Here they do nothing.
#ifndef MLC_TVM_RUNTIME_TVM_SUPPORT_CUDA_NVTX_H_
#define MLC_TVM_RUNTIME_TVM_SUPPORT_CUDA_NVTX_H_

#include <string>

namespace tvm {
namespace support {

class NVTXScopedRange {
 public:
  explicit NVTXScopedRange(const std::string&) {}
};

}  // namespace support
}  // namespace tvm

#endif  // MLC_TVM_RUNTIME_TVM_SUPPORT_CUDA_NVTX_H_
