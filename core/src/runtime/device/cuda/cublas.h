// Matrix products by NVIDIA's cuBLAS. It is opened when it is first needed. A model library asks
// for it at each product (`kernels/gpu/library_gemm.py`), and uses its own kernels if there is no
// cuBLAS.
#pragma once

#include <string>

namespace mlc::cuda {

// "", or the reason why cuBLAS cannot be used. MLC_CUBLAS_LIBRARY names another library; a path
// that does not exist disables cuBLAS.
const std::string& CublasProblem();

// Registers
//   mlc.cuda.has_gemm() -> int
//   mlc.cuda.gemm(x [n, ins], w [>= count, ins], y float32 [n, outs], first, count, adds)
//     y[:, first : first + count] = x w[:count]^T, plus the old values of y if `adds`. x and w are
//     both float16 or both float32. All are compact and on one device. Sums are float32.
void RegisterGemm();

}  // namespace mlc::cuda
