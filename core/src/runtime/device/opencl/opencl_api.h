// The functions of OpenCL, found at run time, because a machine without a driver has no libOpenCL.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <string>

namespace mlc::opencl {

#define MLC_OPENCL_FUNCTIONS(X) \
  X(clGetPlatformIDs)           \
  X(clGetPlatformInfo)          \
  X(clGetDeviceIDs)             \
  X(clGetDeviceInfo)            \
  X(clCreateContext)            \
  X(clReleaseContext)           \
  X(clCreateCommandQueue)       \
  X(clReleaseCommandQueue)      \
  X(clCreateBuffer)             \
  X(clCreateSubBuffer)          \
  X(clReleaseMemObject)         \
  X(clEnqueueReadBuffer)        \
  X(clEnqueueWriteBuffer)       \
  X(clEnqueueCopyBuffer)        \
  X(clFinish)                   \
  X(clCreateProgramWithSource)  \
  X(clCreateProgramWithBinary)  \
  X(clBuildProgram)             \
  X(clGetProgramBuildInfo)      \
  X(clGetProgramInfo)           \
  X(clReleaseProgram)           \
  X(clCreateKernel)             \
  X(clReleaseKernel)            \
  X(clSetKernelArg)             \
  X(clEnqueueNDRangeKernel)

struct Api {
#define MLC_OPENCL_DECLARE(name) decltype(&::name) name = nullptr;
  MLC_OPENCL_FUNCTIONS(MLC_OPENCL_DECLARE)
#undef MLC_OPENCL_DECLARE
  std::string problem;  // the reason why there is no OpenCL; empty: there is
};

// Loads libOpenCL, or the library that MLC_OPENCL_LIBRARY names, at the first call.
const Api& api();

// "CL_OUT_OF_RESOURCES", or the number if the name is not known.
std::string ErrorName(cl_int code);

// Whether the code means that memory ran out.
bool IsOutOfMemory(cl_int code);

// Throws a TVM error unless `code` is CL_SUCCESS. runtime/tvm_convert.h turns it into a Status.
// TVM's interface for devices has no other way to report an error.
void Check(cl_int code, const char* what);

}  // namespace mlc::opencl
