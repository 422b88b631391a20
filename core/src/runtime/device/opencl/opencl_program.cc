#include "runtime/device/opencl/opencl_program.h"

#include <tvm/ffi/error.h>

#include <algorithm>

#include "runtime/device/kept_code.h"
#include "runtime/device/signal_handlers.h"

namespace mlc::opencl {
namespace {

constexpr const char* kOptions = "-cl-mad-enable";

KeptCode KeptFor(const ClDevice& device, const std::string& source) {
  const Limits& limits = device.limits();
  return KeptCode("opencl", std::string(kOptions) + '\n' + limits.name + '\n' + limits.vendor +
                                '\n' + limits.version + '\n' + limits.driver + '\n' + source);
}

// Returns null, without an exception, if there is no binary that the driver accepts.
cl_program FromKept(Session& session, const std::string& binary) {
  if (binary.empty()) return nullptr;
  const unsigned char* data = reinterpret_cast<const unsigned char*>(binary.data());
  size_t size = binary.size();
  cl_device_id id = session.id();
  cl_int status = CL_SUCCESS, code = CL_SUCCESS;
  cl_program program =
      api().clCreateProgramWithBinary(session.context(), 1, &id, &size, &data, &status, &code);
  if (code != CL_SUCCESS || status != CL_SUCCESS) return nullptr;
  if (api().clBuildProgram(program, 1, &id, kOptions, nullptr, nullptr) == CL_SUCCESS) {
    return program;
  }
  api().clReleaseProgram(program);
  return nullptr;
}

void Keep(cl_program program, const KeptCode& kept) {
  size_t size = 0;
  if (api().clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr) !=
          CL_SUCCESS ||
      size == 0) {
    return;
  }
  std::string binary(size, '\0');
  unsigned char* data = reinterpret_cast<unsigned char*>(binary.data());
  if (api().clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(data), &data, nullptr) ==
      CL_SUCCESS) {
    kept.Write(binary);
  }
}

std::string BuildLog(cl_program program, cl_device_id id) {
  size_t size = 0;
  api().clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  if (size != 0) {
    api().clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  }
  return log.substr(0, std::min<size_t>(log.find('\0'), 2000));
}

cl_program FromSource(const ClDevice& device, Session& session, const std::string& source) {
  const char* text = source.data();
  size_t size = source.size();
  cl_device_id id = session.id();
  cl_int code;
  cl_program program = api().clCreateProgramWithSource(session.context(), 1, &text, &size, &code);
  session.Check(code, "clCreateProgramWithSource");
  code = api().clBuildProgram(program, 1, &id, kOptions, nullptr, nullptr);
  if (code == CL_SUCCESS) return program;
  std::string log = BuildLog(program, id);
  api().clReleaseProgram(program);
  session.CheckLost(code, "clBuildProgram");
  TVM_FFI_THROW(RuntimeError) << device.limits().name
                              << " could not build the model library's kernels (" << ErrorName(code)
                              << "): " << log;
}

}  // namespace

cl_program BuildProgram(const ClDevice& device, Session& session, const std::string& source) {
  if (!device.limits().has_f16 && source.find("cl_khr_fp16") != std::string::npos) {
    TVM_FFI_THROW(NotImplementedError)
        << device.limits().name
        << " has no 16-bit floats, which the model library uses; choose a "
           "quantization named f32 (q4f32_1)";
  }
  KeptSignalHandlers handlers;
  KeptCode kept = KeptFor(device, source);
  if (cl_program program = FromKept(session, kept.Read())) return program;
  cl_program program = FromSource(device, session, source);
  Keep(program, kept);
  return program;
}

}  // namespace mlc::opencl
