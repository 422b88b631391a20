#include "runtime/device/opencl/opencl_session.h"

#include <tvm/ffi/error.h>

#include "runtime/device/signal_handlers.h"

namespace mlc::opencl {
namespace {

constexpr size_t kProbeBytes = 16;

[[noreturn]] void ThrowLost(const std::string& message) {
  TVM_FFI_THROW(DeviceLostError) << message;
  throw;  // not reached: the macro's destructor throws, but the compiler does not know that
}

}  // namespace

std::shared_ptr<Session> Session::Open(cl_device_id id, const std::string& name) {
  KeptSignalHandlers kept;
  std::shared_ptr<Session> session(new Session(id, name));
  session->Create();
  return session;
}

void Session::Create() {
  cl_int code;
  auto check = [&](const char* what) {
    if (code == CL_SUCCESS) return;
    ThrowLost("the device " + name_ + " cannot be opened (" + ErrorName(code) + " in " + what +
              ")");
  };
  context_ = api().clCreateContext(nullptr, 1, &id_, nullptr, nullptr, &code);
  check("clCreateContext");
  queue_ = api().clCreateCommandQueue(context_, id_, 0, &code);
  check("clCreateCommandQueue");
  probe_ = api().clCreateBuffer(context_, CL_MEM_READ_WRITE, kProbeBytes, nullptr, &code);
  check("clCreateBuffer");
}

Session::~Session() {
  if (probe_ != nullptr) api().clReleaseMemObject(probe_);
  if (queue_ != nullptr) api().clReleaseCommandQueue(queue_);
  if (context_ != nullptr) api().clReleaseContext(context_);
}

bool Session::Works() {
  char bytes[kProbeBytes] = {};
  return !lost_ && api().clFinish(queue_) == CL_SUCCESS &&
         api().clEnqueueWriteBuffer(queue_, probe_, CL_TRUE, 0, kProbeBytes, bytes, 0, nullptr,
                                    nullptr) == CL_SUCCESS;
}

void Session::MustLive() const {
  if (lost_) ThrowLost("the device " + name_ + " was lost");
}

void Session::CheckLost(cl_int code, const char* what) {
  if (code == CL_SUCCESS || Works()) return;
  lost_ = true;
  ThrowLost("the device " + name_ + " was lost (" + ErrorName(code) + " in " + what + ")");
}

void Session::Check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  CheckLost(code, what);
  opencl::Check(code, what);
}

}  // namespace mlc::opencl
