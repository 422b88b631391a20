#include "runtime/device/opencl/opencl_api.h"

#include <tvm/ffi/error.h>

#include <cstdlib>

#include "platform/shared_library.h"

namespace mlc::opencl {
namespace {

void* OpenDriver(std::string* problem) {
  const char* named = std::getenv("MLC_OPENCL_LIBRARY");
#if defined(__APPLE__)
  const char* usual[] = {"/System/Library/Frameworks/OpenCL.framework/OpenCL"};
#else
  // On Android libOpenCL.so is there if the app's manifest names it (uses-native-library); Pixels
  // have their own name. Where neither is, the vendors' usual places are tried.
  const char* usual[] = {"libOpenCL.so.1",
                         "libOpenCL.so",
#if defined(__ANDROID__)
                         "libOpenCL-pixel.so",
                         "libOpenCL-car.so",
                         "/vendor/lib64/libOpenCL.so",
                         "/system/vendor/lib64/libOpenCL.so",
                         "/system/lib64/libOpenCL.so",
                         "/vendor/lib64/egl/libGLES_mali.so",
                         "/vendor/lib64/libPVROCL.so"
#endif
  };
#endif
  if (named != nullptr && *named != '\0') {
    void* library = OpenLibrary(named, LibraryScope::kLocal);
    if (library == nullptr) *problem = std::string("MLC_OPENCL_LIBRARY: ") + LibraryError();
    return library;
  }
  for (const char* name : usual) {
    if (void* library = OpenLibrary(name, LibraryScope::kLocal)) return library;
  }
  *problem = "there is no OpenCL driver (libOpenCL.so.1 was not found)";
  return nullptr;
}

Api Load() {
  Api api;
  void* library = OpenDriver(&api.problem);
  if (library == nullptr) return api;
#define MLC_OPENCL_FIND(name)                                                  \
  api.name = reinterpret_cast<decltype(api.name)>(FindSymbol(library, #name)); \
  if (api.name == nullptr) api.problem = "libOpenCL has no function " #name ": it is too old";
  MLC_OPENCL_FUNCTIONS(MLC_OPENCL_FIND)
#undef MLC_OPENCL_FIND
  return api;
}

struct CodeName {
  cl_int code;
  const char* name;
};

#define MLC_NAMED(code) {code, #code}
constexpr CodeName kNames[] = {MLC_NAMED(CL_DEVICE_NOT_FOUND),
                               MLC_NAMED(CL_DEVICE_NOT_AVAILABLE),
                               MLC_NAMED(CL_COMPILER_NOT_AVAILABLE),
                               MLC_NAMED(CL_MEM_OBJECT_ALLOCATION_FAILURE),
                               MLC_NAMED(CL_OUT_OF_RESOURCES),
                               MLC_NAMED(CL_OUT_OF_HOST_MEMORY),
                               MLC_NAMED(CL_BUILD_PROGRAM_FAILURE),
                               MLC_NAMED(CL_MISALIGNED_SUB_BUFFER_OFFSET),
                               MLC_NAMED(CL_INVALID_VALUE),
                               MLC_NAMED(CL_INVALID_DEVICE),
                               MLC_NAMED(CL_INVALID_CONTEXT),
                               MLC_NAMED(CL_INVALID_COMMAND_QUEUE),
                               MLC_NAMED(CL_INVALID_MEM_OBJECT),
                               MLC_NAMED(CL_INVALID_BINARY),
                               MLC_NAMED(CL_INVALID_BUILD_OPTIONS),
                               MLC_NAMED(CL_INVALID_PROGRAM),
                               MLC_NAMED(CL_INVALID_PROGRAM_EXECUTABLE),
                               MLC_NAMED(CL_INVALID_KERNEL_NAME),
                               MLC_NAMED(CL_INVALID_KERNEL),
                               MLC_NAMED(CL_INVALID_ARG_VALUE),
                               MLC_NAMED(CL_INVALID_ARG_SIZE),
                               MLC_NAMED(CL_INVALID_KERNEL_ARGS),
                               MLC_NAMED(CL_INVALID_WORK_GROUP_SIZE),
                               MLC_NAMED(CL_INVALID_WORK_ITEM_SIZE),
                               MLC_NAMED(CL_INVALID_BUFFER_SIZE)};
#undef MLC_NAMED

}  // namespace

const Api& api() {
  static const Api* loaded = new Api(Load());  // never unloaded: drivers have running threads
  return *loaded;
}

std::string ErrorName(cl_int code) {
  for (const CodeName& entry : kNames) {
    if (entry.code == code) return entry.name;
  }
  return "OpenCL error " + std::to_string(code);
}

bool IsOutOfMemory(cl_int code) {
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
         code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
}

void Check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  if (IsOutOfMemory(code)) {
    TVM_FFI_THROW(MemoryError) << "the OpenCL device is out of memory (" << ErrorName(code)
                               << " in " << what << ")";
  }
  TVM_FFI_THROW(RuntimeError) << ErrorName(code) << " in " << what;
}

}  // namespace mlc::opencl
