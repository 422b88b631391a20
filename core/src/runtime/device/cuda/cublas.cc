#include "runtime/device/cuda/cublas.h"

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>

#include "platform/shared_library.h"

namespace mlc::cuda {
namespace {

// The part of cuBLAS 13's interface that is used here, as numbers. So its headers are not needed to
// build.
using Handle = void*;
constexpr int kSuccess = 0, kPlain = 0, kTransposed = 1, kDefaultAlgorithm = -1;
constexpr int kFloat32 = 0, kFloat16 = 2;  // cudaDataType
constexpr int kSumsInFloat32 = 68;         // cublasComputeType_t

struct Cublas {
  int (*create)(Handle*) = nullptr;
  int (*set_stream)(Handle, void*) = nullptr;
  int (*gemm)(Handle, int transpose_a, int transpose_b, int m, int n, int k, const void* alpha,
              const void* a, int a_type, int lda, const void* b, int b_type, int ldb,
              const void* beta, void* c, int c_type, int ldc, int compute, int algorithm) = nullptr;
  std::string problem;
};

Cublas Open() {
  Cublas cublas;
  const char* named = std::getenv("MLC_CUBLAS_LIBRARY");
  const char* file = named != nullptr && *named != '\0' ? named : "libcublas.so.13";
  void* library = OpenLibrary(file, LibraryScope::kLocal);
  if (library == nullptr) {
    cublas.problem = "pip install \"mlc-llm[cublas]\"";
    return cublas;
  }
  auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::decay_t<decltype(*function)>>(FindSymbol(library, name));
    if (*function == nullptr) cublas.problem = std::string(file) + " has no " + name;
  };
  find("cublasCreate_v2", &cublas.create);
  find("cublasSetStream_v2", &cublas.set_stream);
  find("cublasGemmEx", &cublas.gemm);
  return cublas;
}

const Cublas& Library() {
  static const Cublas* cublas = new Cublas(Open());
  return *cublas;
}

void Check(int status, const char* what) {
  constexpr int kAllocationFailed = 3;
  if (status == kSuccess) return;
  if (status == kAllocationFailed) {
    TVM_FFI_THROW(MemoryError) << "cuBLAS: " << what << ": out of memory";
  }
  TVM_FFI_THROW(RuntimeError) << "cuBLAS: " << what << " failed with status " << status;
}

// One handle for each device. It is created when it is first used, while that device is current.
// The mutex protects it, since a handle has one workspace.
struct Handles {
  std::mutex mutex;
  std::map<int, Handle> by_device;
};

Handle HandleOf(Handles* handles, DLDevice device) {
  Handle& handle = handles->by_device[device.device_id];
  if (handle == nullptr) {
    tvm::runtime::DeviceAPI::Get(device)->SetDevice(device);
    Check(Library().create(&handle), "cublasCreate");
  }
  return handle;
}

using Matrix = tvm::ffi::TensorView;

char* Data(const Matrix& matrix) {
  return static_cast<char*>(matrix.data_ptr()) + matrix.byte_offset();
}

bool Is(const Matrix& matrix, int bits) {
  DLDataType dtype = matrix.dtype();
  return matrix.ndim() == 2 && dtype.code == kDLFloat && dtype.bits == bits;
}

int Checked(int64_t size) {
  if (size < 1 || size > INT_MAX) TVM_FFI_THROW(ValueError) << "gemm: a size of " << size;
  return static_cast<int>(size);
}

// cuBLAS stores matrices by columns, so it computes y^T = w x^T.
void Gemm(Matrix x, Matrix w, Matrix y, int64_t first, int64_t count, int adds) {
  int bits = x.dtype().bits;
  bool fits = (bits == 16 || bits == 32) && Is(x, bits) && Is(w, bits) && Is(y, 32) &&
              x.size(0) == y.size(0) && x.size(1) == w.size(1) && count <= w.size(0) &&
              first >= 0 && first + count <= y.size(1);
  if (!fits) TVM_FFI_THROW(ValueError) << "gemm: shapes or dtypes that do not fit together";
  if (!Library().problem.empty()) TVM_FFI_THROW(RuntimeError) << Library().problem;
  static auto* handles = new Handles();
  std::lock_guard<std::mutex> lock(handles->mutex);
  DLDevice device = y.device();
  Handle handle = HandleOf(handles, device);
  void* stream = TVMFFIEnvGetStream(device.device_type, device.device_id);
  Check(Library().set_stream(handle, stream), "cublasSetStream");
  int rows = Checked(x.size(0)), ins = Checked(x.size(1)), outs = Checked(y.size(1));
  float one = 1.0f, beta = adds != 0 ? 1.0f : 0.0f;
  int type = bits == 16 ? kFloat16 : kFloat32;
  void* target = Data(y) + first * static_cast<int64_t>(sizeof(float));
  Check(Library().gemm(handle, kTransposed, kPlain, Checked(count), rows, ins, &one, Data(w), type,
                       ins, Data(x), type, ins, &beta, target, kFloat32, outs, kSumsInFloat32,
                       kDefaultAlgorithm),
        "cublasGemmEx");
}

}  // namespace

const std::string& CublasProblem() { return Library().problem; }

void RegisterGemm() {
  tvm::ffi::reflection::GlobalDef()
      .def("mlc.cuda.has_gemm", [] { return static_cast<int>(CublasProblem().empty()); })
      .def("mlc.cuda.gemm", Gemm);
}

}  // namespace mlc::cuda
