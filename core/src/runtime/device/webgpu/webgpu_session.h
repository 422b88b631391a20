// One opened WebGPU device and its queue: buffers, copies, kernels. It ends when the device is
// lost.
//
// What is asked for happens in order. Kernels are recorded and handed over in groups; reading hands
// over the rest and waits. Every function may throw a TVM error, which runtime/tvm_convert.h makes
// a Status: MemoryError, DeviceLostError, RuntimeError.
#ifndef MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_SESSION_H_
#define MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/device/driver_thread.h"
#include "runtime/device/kernel_table.h"
#include "runtime/device/webgpu/webgpu_adapter.h"

namespace mlc::webgpu {

// What wgpu-native's callbacks tell, from whatever thread.
class Errors {
 public:
  explicit Errors(std::string device) : device_(std::move(device)) {}
  void Report(WGPUErrorType type, std::string_view message);
  void ReportLost(std::string_view message);
  bool lost();
  // Whether memory ran out; takes that error, and leaves others.
  bool TakeOutOfMemory();
  // Throws what was reported; a loss is thrown again each time.
  void Check(const char* what);

 private:
  const std::string device_;
  std::mutex mutex_;
  bool lost_ = false;
  WGPUErrorType type_ = WGPUErrorType_NoError;
  std::string message_;
};

// A kernel, compiled. A binding for each pointer, then one for numbers.
struct Pipeline {
  WGPUComputePipeline pipeline = nullptr;
  WGPUBindGroupLayout layout = nullptr;
};

struct Binding {
  WGPUBuffer buffer;
  size_t offset, size;
};

struct Groups {
  uint32_t x = 1, y = 1, z = 1;
};

class Session {
 public:
  // Opens the adapter of that index. Throws when the driver refuses.
  Session(int index, const Facts& facts);
  ~Session();

  bool lost() { return errors_->lost(); }
  // No two sessions of a process have the same.
  uint64_t serial() const { return serial_; }
  void CheckNotLost() { errors_->Check("its memory is gone"); }
  // What a driver does when it fails, for tests.
  void Lose();

  // Storage for kernels and copies, `bytes` being a multiple of 4; null when there is no room.
  WGPUBuffer TryCreate(size_t bytes);
  void Release(WGPUBuffer buffer);  // never throws

  // Offsets and sizes are multiples of 4.
  void Write(WGPUBuffer buffer, size_t offset, const char* data, size_t bytes);
  void Read(WGPUBuffer buffer, size_t offset, char* out, size_t bytes);
  void Copy(WGPUBuffer from, size_t from_offset, WGPUBuffer to, size_t to_offset, size_t bytes);
  // Waits for everything that was asked for.
  void Sync();

  // Compiled once for each source. Valid as long as the session.
  const Pipeline& Compile(const KernelInfo& kernel, const std::string& source);
  // `numbers` are the words of the kernel's last binding.
  void Launch(const Pipeline& pipeline, const std::vector<Binding>& bindings,
              const std::vector<uint32_t>& numbers, Groups groups);

 private:
  WGPUBuffer CreateBuffer(size_t bytes, WGPUBufferUsage usage);
  Pipeline Build(const KernelInfo& kernel, const std::string& source);
  // Made once for the same buffers: a step's temporaries come out of a pool.
  WGPUBindGroup GroupFor(const Pipeline& pipeline, const std::vector<Binding>& bindings,
                         size_t number_bytes);
  WGPUBindGroup Bind(const Pipeline& pipeline, const std::vector<Binding>& bindings,
                     size_t number_bytes);
  void DropGroups();
  WGPUCommandEncoder Encoder();
  void EndPass();
  void Flush();
  void Submit(size_t count, const WGPUCommandBuffer* commands);
  // Then calls `then`, where the driver may fail.
  void Wait(const std::function<void()>& then = nullptr);
  void ReadPiece(WGPUBuffer buffer, size_t offset, char* out, size_t bytes);

  // What a bind group is of: a layout, sizes, buffers.
  using GroupKey = std::vector<uint64_t>;
  struct GroupKeyHash {
    size_t operator()(const GroupKey& key) const;
  };

  const Facts& facts_;
  const uint64_t serial_;
  DriverThread driver_;  // for the calls that abort when the device is lost
  Errors* errors_;       // never freed: callbacks come when they like
  WGPUDevice device_ = nullptr;
  WGPUQueue queue_ = nullptr;
  std::mutex mutex_;
  WGPUCommandEncoder encoder_ = nullptr;
  WGPUComputePassEncoder pass_ = nullptr;
  WGPUBuffer numbers_ = nullptr, landing_ = nullptr;  // of kernels; what is read is copied there
  std::vector<char> number_bytes_;                    // of the recorded kernels, a slot each
  size_t recorded_ = 0, staged_ = 0;  // kernels; bytes written since the queue was last emptied
  bool working_ = false;              // something was handed over and not waited for
  std::unordered_map<std::string, Pipeline> pipelines_;
  std::unordered_map<GroupKey, WGPUBindGroup, GroupKeyHash> groups_;
  GroupKey group_key_;  // memory, to be used again
};

}  // namespace mlc::webgpu

#endif  // MLC_RUNTIME_DEVICE_WEBGPU_WEBGPU_SESSION_H_
