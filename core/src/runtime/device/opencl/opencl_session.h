// A connection to an OpenCL device, which a driver may lose.
#ifndef MLC_RUNTIME_DEVICE_OPENCL_OPENCL_SESSION_H_
#define MLC_RUNTIME_DEVICE_OPENCL_OPENCL_SESSION_H_

#include <atomic>
#include <memory>
#include <string>

#include "runtime/device/opencl/opencl_api.h"

namespace mlc::opencl {

// A context with one queue, in order: what is enqueued later sees what was enqueued before, so that
// a buffer can be handed on while kernels that use it still wait.
//
// A session that is lost (a reset driver, a device that was pulled) stays lost, with its buffers
// and programs; whoever touches them gets a DeviceLostError, which runtime/tvm_convert.h makes
// kUnavailable with the reason "device_lost". The device opens another session for what is loaded
// next. Buffers and programs hold their session. Thread-safe, as OpenCL's queues are.
class Session {
 public:
  // Throws DeviceLostError when the driver refuses. `name` is for errors: "opencl:0 (a GPU)".
  static std::shared_ptr<Session> Open(cl_device_id id, const std::string& name);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  cl_device_id id() const { return id_; }
  cl_context context() const { return context_; }
  cl_command_queue queue() const { return queue_; }

  bool lost() const { return lost_; }
  // Throws DeviceLostError when it is lost.
  void MustLive() const;
  // Throws unless `code` is CL_SUCCESS: DeviceLostError when the session no longer works, else as
  // opencl::Check. The code alone does not tell: CL_OUT_OF_RESOURCES is both to many drivers.
  void Check(cl_int code, const char* what);
  // The same for a code that has a better error than Check's: throws only when the session is lost.
  void CheckLost(cl_int code, const char* what);

 private:
  Session(cl_device_id id, std::string name) : id_(id), name_(std::move(name)) {}
  void Create();
  bool Works();

  cl_device_id id_;
  std::string name_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_mem probe_ = nullptr;  // made in good times, so that Works needs no memory
  std::atomic<bool> lost_{false};
};

}  // namespace mlc::opencl

#endif  // MLC_RUNTIME_DEVICE_OPENCL_OPENCL_SESSION_H_
