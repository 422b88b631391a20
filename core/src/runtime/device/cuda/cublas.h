// Matrix products by NVIDIA's cuBLAS, which is opened when it is first asked for. A model library
// asks at each product (`kernels/gpu/library_gemm.py`) and uses its own kernels where it is not.
#ifndef MLC_RUNTIME_DEVICE_CUDA_CUBLAS_H_
#define MLC_RUNTIME_DEVICE_CUDA_CUBLAS_H_

#include <string>

namespace mlc::cuda {

// "", or why cuBLAS cannot be used. MLC_CUBLAS_LIBRARY names another library, or with a path that
// is none keeps it away.
const std::string& CublasProblem();

// Registers
//   mlc.cuda.has_gemm() -> int
//   mlc.cuda.gemm(x [n, ins], w [>= count, ins], y float32 [n, outs], first, count, adds)
//     y[:, first : first + count] = x w[:count]^T, plus what stands there if `adds`; x and w are
//     both float16 or both float32, all are compact and of one device; sums are of float32.
void RegisterGemm();

}  // namespace mlc::cuda

#endif  // MLC_RUNTIME_DEVICE_CUDA_CUBLAS_H_
