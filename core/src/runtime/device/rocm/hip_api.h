// The part of HIP, AMD's interface, that is used here, found at run time: a machine without an AMD
// driver has no libamdhip64. HIP's headers are not needed to build.
#pragma once

#include <cstddef>
#include <string>

namespace mlc::rocm {

using Handle = void*;  // a module, a function, a stream, a program
constexpr int kSuccess = 0, kOutOfMemory = 2;
constexpr int kToDevice = 1, kToHost = 2, kByAddresses = 4;  // hipMemcpyKind

// hipDeviceProp_tR0600, which ROCm has had since 6.0.
struct DeviceProperties {
  char name[256];
  char ids[32];
  size_t memory;
  size_t group_memory;
  char registers_and_pitch[16];
  int group_size;
  char others[72];
  int is_integrated;
  char more[760];
  char architecture[256];  // "gfx90a:sramecc+:xnack-"
  char rest[4096 - 1416];  // later versions may append
};

// libamdhip64
#define MLC_HIP_FUNCTIONS(X)                                                                  \
  X(hipGetDeviceCount, int* count)                                                            \
  X(hipGetDevicePropertiesR0600, DeviceProperties*, int device)                               \
  X(hipRuntimeGetVersion, int* version)                                                       \
  X(hipSetDevice, int device)                                                                 \
  X(hipGetLastError, )                                                                        \
  X(hipDeviceSynchronize, )                                                                   \
  X(hipMemGetInfo, size_t* free, size_t* total)                                               \
  X(hipMalloc, void** pointer, size_t bytes)                                                  \
  X(hipFree, void* pointer)                                                                   \
  X(hipMemcpy, void* to, const void* from, size_t bytes, int kind)                            \
  X(hipMemcpyAsync, void* to, const void* from, size_t bytes, int kind, Handle stream)        \
  X(hipModuleLoadData, Handle* module, const void* code)                                      \
  X(hipModuleUnload, Handle module)                                                           \
  X(hipModuleGetFunction, Handle* function, Handle module, const char* name)                  \
  X(hipModuleLaunchKernel, Handle function, unsigned groups_x, unsigned groups_y,             \
    unsigned groups_z, unsigned items_x, unsigned items_y, unsigned items_z, unsigned shared, \
    Handle stream, void** arguments, void** extra)

// libhiprtc, the compiler
#define MLC_HIPRTC_FUNCTIONS(X)                                                                  \
  X(hiprtcCreateProgram, Handle* program, const char* source, const char* name, int num_headers, \
    const char** headers, const char** names)                                                    \
  X(hiprtcCompileProgram, Handle program, int num_options, const char** options)                 \
  X(hiprtcGetProgramLogSize, Handle program, size_t* bytes)                                      \
  X(hiprtcGetProgramLog, Handle program, char* log)                                              \
  X(hiprtcGetCodeSize, Handle program, size_t* bytes)                                            \
  X(hiprtcGetCode, Handle program, char* code)                                                   \
  X(hiprtcDestroyProgram, Handle* program)

#define MLC_HIP_DECLARE(name, ...) int (*name)(__VA_ARGS__) = nullptr;

struct Api {
  MLC_HIP_FUNCTIONS(MLC_HIP_DECLARE)
  const char* (*hipGetErrorString)(int code) = nullptr;
  void* library = nullptr;
  std::string file;     // "libamdhip64.so.7"
  std::string problem;  // the reason why there is no HIP; empty: there is
};

struct Compiler {
  MLC_HIPRTC_FUNCTIONS(MLC_HIP_DECLARE)
  std::string problem;
};
#undef MLC_HIP_DECLARE

// Opens libamdhip64, or the library that MLC_HIP_LIBRARY names, at the first call.
const Api& api();
// Opens the libhiprtc beside it at the first call. It is large.
const Compiler& compiler();

// Throws a TVM error unless `code` is kSuccess: MemoryError if the device is out of memory.
void Check(int code, const char* what);

}  // namespace mlc::rocm
