// One open WebGPU device and its queue: buffers, copies, kernels. It ends when the device is lost.
//
// Commands run in order. Kernels are recorded and submitted in groups. Reading submits the rest and
// waits. Every function may throw a TVM error, which runtime/tvm_convert.h turns into a Status:
// MemoryError, DeviceLostError, RuntimeError.
#pragma once

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

// The errors that wgpu-native's callbacks report, from any thread.
class Errors {
 public:
  explicit Errors(std::string device) : device_(std::move(device)) {}
  void Report(WGPUErrorType type, std::string_view message);
  void ReportLost(std::string_view message);
  bool lost();
  // Whether memory ran out. Removes that error, and keeps other errors.
  bool TakeOutOfMemory();
  // Throws the reported error. A loss is thrown again at each call.
  void Check(const char* what);

 private:
  const std::string device_;
  std::mutex mutex_;
  bool lost_ = false;
  WGPUErrorType type_ = WGPUErrorType_NoError;
  std::string message_;
};

// A compiled kernel. It has one binding for each pointer, then one for numbers.
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
  // Opens the adapter with that index. Throws when the driver refuses.
  Session(int index, const Facts& facts);
  ~Session();

  bool lost() { return errors_->lost(); }
  // A number that is different for each session of the process.
  uint64_t serial() const { return serial_; }
  void CheckNotLost() { errors_->Check("its memory is gone"); }
  // Acts as if the driver had failed, for tests.
  void Lose();

  // Storage for kernels and copies. `bytes` is a multiple of 4. Null when there is no room.
  WGPUBuffer TryCreate(size_t bytes);
  void Release(WGPUBuffer buffer);  // never throws

  // Offsets and sizes are multiples of 4.
  void Write(WGPUBuffer buffer, size_t offset, const char* data, size_t bytes);
  void Read(WGPUBuffer buffer, size_t offset, char* out, size_t bytes);
  void Copy(WGPUBuffer from, size_t from_offset, WGPUBuffer to, size_t to_offset, size_t bytes);
  // Waits for all commands.
  void Sync();

  // A source is compiled only once. The pipeline is valid as long as the session.
  const Pipeline& Compile(const KernelInfo& kernel, const std::string& source);
  // `numbers` are the words of the kernel's last binding.
  void Launch(const Pipeline& pipeline, const std::vector<Binding>& bindings,
              const std::vector<uint32_t>& numbers, Groups groups);

 private:
  WGPUBuffer CreateBuffer(size_t bytes, WGPUBufferUsage usage);
  Pipeline Build(const KernelInfo& kernel, const std::string& source);
  // The same buffers give the same group: a step's temporaries come from a pool.
  WGPUBindGroup GroupFor(const Pipeline& pipeline, const std::vector<Binding>& bindings,
                         size_t number_bytes);
  WGPUBindGroup Bind(const Pipeline& pipeline, const std::vector<Binding>& bindings,
                     size_t number_bytes);
  void DropGroups();
  WGPUCommandEncoder Encoder();
  void EndPass();
  void Flush();
  void Submit(size_t count, const WGPUCommandBuffer* commands);
  // Waits, then calls `then`, which may make driver calls that abort.
  void Wait(const std::function<void()>& then = nullptr);
  void ReadPiece(WGPUBuffer buffer, size_t offset, char* out, size_t bytes);

  // The key of a bind group: its layout, sizes and buffers.
  using GroupKey = std::vector<uint64_t>;
  struct GroupKeyHash {
    size_t operator()(const GroupKey& key) const;
  };

  const Facts& facts_;
  const uint64_t serial_;
  DriverThread driver_;  // for calls that abort when the device is lost
  Errors* errors_;       // never freed: a callback may come at any time
  WGPUDevice device_ = nullptr;
  WGPUQueue queue_ = nullptr;
  std::mutex mutex_;
  WGPUCommandEncoder encoder_ = nullptr;
  WGPUComputePassEncoder pass_ = nullptr;
  // the numbers of kernels; the buffer into which reads copy
  WGPUBuffer numbers_ = nullptr, landing_ = nullptr;
  std::vector<char> number_bytes_;  // of the recorded kernels, one slot each
  // number of kernels; bytes written since the queue was last empty
  size_t recorded_ = 0, staged_ = 0;
  bool working_ = false;  // commands were submitted, and nobody has waited for them
  std::unordered_map<std::string, Pipeline> pipelines_;
  std::unordered_map<GroupKey, WGPUBindGroup, GroupKeyHash> groups_;
  GroupKey group_key_;  // memory that is used again
};

}  // namespace mlc::webgpu
