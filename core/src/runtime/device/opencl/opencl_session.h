// A connection to an OpenCL device. A driver may lose it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "runtime/device/opencl/opencl_api.h"

namespace mlc::opencl {

// A context with one queue that runs in order: a later command sees the results of earlier
// commands. So a buffer can be given to the next owner while kernels that use it still wait.
//
// A lost session (after a driver reset, or when the device was removed) stays lost, with its
// buffers and programs. Each use of them throws a DeviceLostError, which runtime/tvm_convert.h
// turns into kUnavailable with the reason "device_lost". The device opens another session for the
// next load. Buffers and programs keep their session alive. Thread-safe, as OpenCL's queues are.
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
  // Throws DeviceLostError if the session is lost.
  void MustLive() const;
  // Throws unless `code` is CL_SUCCESS: DeviceLostError if the session no longer works, otherwise
  // like opencl::Check. The code alone is not enough: many drivers use CL_OUT_OF_RESOURCES for
  // both.
  void Check(cl_int code, const char* what);
  // The same for a code for which the caller has a better error: throws only if the session is
  // lost.
  void CheckLost(cl_int code, const char* what);

 private:
  Session(cl_device_id id, std::string name) : id_(id), name_(std::move(name)) {}
  void Create();
  bool Works();

  cl_device_id id_;
  std::string name_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_mem probe_ = nullptr;  // allocated at the start, so that Works needs no memory
  std::atomic<bool> lost_{false};
};

}  // namespace mlc::opencl
