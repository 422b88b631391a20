#include "runtime/device/webgpu/webgpu_session.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "runtime/device/signal_handlers.h"

namespace mlc::webgpu {
namespace {

constexpr size_t kSlot = 256;         // size of a kernel's numbers: WebGPU's largest alignment
constexpr size_t kMostRecorded = 64;  // most kernels in one submit
constexpr size_t kPiece = size_t{4} << 20;  // bytes of one read or write
constexpr size_t kMostGroups = 4096;        // most bind groups that are kept
// most written bytes that wgpu holds before a submit
constexpr size_t kMostStaged = size_t{64} << 20;

void OnError(WGPUDevice const*, WGPUErrorType type, WGPUStringView message, void* errors, void*) {
  static_cast<Errors*>(errors)->Report(type, View(message));
}

void OnLost(WGPUDevice const*, WGPUDeviceLostReason, WGPUStringView message, void* errors, void*) {
  static_cast<Errors*>(errors)->ReportLost(View(message));
}

struct Opened {
  WGPUDevice device = nullptr;
  std::string problem;
};

uint64_t NextSerial() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

uint64_t Word(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

WGPUDevice OpenDevice(const Adapters& adapters, WGPUAdapter adapter, const Facts& facts,
                      const std::string& name, Errors* errors) {
  WGPUFeatureName f16 = WGPUFeatureName_ShaderF16;
  WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
  descriptor.requiredFeatureCount = facts.has_f16 ? 1 : 0;
  descriptor.requiredFeatures = &f16;
  descriptor.requiredLimits = &facts.limits;  // request all limits that the adapter has
  descriptor.deviceLostCallbackInfo = {nullptr, WGPUCallbackMode_AllowSpontaneous, OnLost, errors,
                                       nullptr};
  descriptor.uncapturedErrorCallbackInfo = {nullptr, OnError, errors, nullptr};
  Opened opened;
  WGPURequestDeviceCallbackInfo callback = WGPU_REQUEST_DEVICE_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_AllowProcessEvents;
  callback.userdata1 = &opened;
  callback.callback = [](WGPURequestDeviceStatus, WGPUDevice device, WGPUStringView message,
                         void* out, void*) {
    static_cast<Opened*>(out)->device = device;
    static_cast<Opened*>(out)->problem = View(message);
  };
  api().wgpuAdapterRequestDevice(adapter, &descriptor, callback);
  api().wgpuInstanceProcessEvents(adapters.instance);
  if (opened.device == nullptr) {
    TVM_FFI_THROW(DeviceLostError)
        << "the device " << name << " cannot be opened (" << opened.problem << ")";
  }
  return opened.device;
}

}  // namespace

void Errors::Report(WGPUErrorType type, std::string_view message) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (lost_ || type_ != WGPUErrorType_NoError) return;  // a consequence of the first error
  type_ = type;
  message_ = message.substr(0, 2000);
  // Any call may notice the loss first. WebGPU then reports it as an error of that call.
  lost_ = message.find("device is lost") != std::string_view::npos;
}

void Errors::ReportLost(std::string_view message) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!lost_) message_ = message;
  lost_ = true;
}

bool Errors::lost() {
  std::lock_guard<std::mutex> lock(mutex_);
  return lost_;
}

bool Errors::TakeOutOfMemory() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (lost_ || type_ != WGPUErrorType_OutOfMemory) return false;
  type_ = WGPUErrorType_NoError;
  return true;
}

void Errors::Check(const char* what) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (lost_) {
    TVM_FFI_THROW(DeviceLostError) << "the device " << device_ << " was lost (" << what << ")";
  }
  WGPUErrorType type = std::exchange(type_, WGPUErrorType_NoError);
  if (type == WGPUErrorType_NoError) return;
  if (type == WGPUErrorType_OutOfMemory) {
    TVM_FFI_THROW(MemoryError) << "the device is out of memory (" << what << "): " << message_;
  }
  TVM_FFI_THROW(RuntimeError) << what << ": " << message_;
}

Session::Session(int index, const Facts& facts) : facts_(facts), serial_(NextSerial()) {
  std::string name = "webgpu:" + std::to_string(index) + " (" + facts.name + ")";
  errors_ = new Errors(name);
  KeptSignalHandlers kept;
  Adapters adapters;
  if (static_cast<size_t>(index) >= adapters.found.size()) {
    TVM_FFI_THROW(DeviceLostError) << "the device " << name << " cannot be opened (it is gone)";
  }
  device_ = OpenDevice(adapters, adapters.found[static_cast<size_t>(index)], facts, name, errors_);
  queue_ = api().wgpuDeviceGetQueue(device_);
  numbers_ = CreateBuffer(kMostRecorded * kSlot, WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst);
  landing_ = CreateBuffer(kPiece, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst);
  errors_->Check("opening the device");
  number_bytes_.resize(kMostRecorded * kSlot);
}

// A lost device is not freed: wgpu may have stopped in the middle of a call. Other devices live as
// long as the process.
Session::~Session() = default;

void Session::Lose() {
  std::lock_guard<std::mutex> lock(mutex_);
  api().wgpuDeviceDestroy(device_);
  bool survived = driver_.Run([this] { api().wgpuQueueSubmit(queue_, 0, nullptr); });
  if (!survived) errors_->ReportLost("the driver failed");
}

WGPUBuffer Session::CreateBuffer(size_t bytes, WGPUBufferUsage usage) {
  WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  descriptor.size = bytes;
  descriptor.usage = usage;
  return api().wgpuDeviceCreateBuffer(device_, &descriptor);
}

WGPUBuffer Session::TryCreate(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  errors_->Check("before an allocation");
  WGPUBuffer buffer = CreateBuffer(
      bytes, WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst);
  if (errors_->TakeOutOfMemory()) {
    if (buffer != nullptr) api().wgpuBufferRelease(buffer);
    return nullptr;
  }
  errors_->Check("wgpuDeviceCreateBuffer");
  return buffer;
}

void Session::Release(WGPUBuffer buffer) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (lost()) return;
  DropGroups();  // they would keep the buffer's memory
  api().wgpuBufferRelease(buffer);
}

// Recording and submitting

WGPUCommandEncoder Session::Encoder() {
  if (encoder_ == nullptr) encoder_ = api().wgpuDeviceCreateCommandEncoder(device_, nullptr);
  return encoder_;
}

void Session::EndPass() {
  if (pass_ == nullptr) return;
  api().wgpuComputePassEncoderEnd(pass_);
  api().wgpuComputePassEncoderRelease(pass_);
  pass_ = nullptr;
}

void Session::Flush() {
  EndPass();
  if (encoder_ == nullptr) return;
  if (recorded_ > 0) {
    api().wgpuQueueWriteBuffer(queue_, numbers_, 0, number_bytes_.data(), recorded_ * kSlot);
  }
  recorded_ = 0;
  std::unique_ptr<WGPUCommandBufferImpl, WGPUProcCommandBufferRelease> commands(
      api().wgpuCommandEncoderFinish(encoder_, nullptr), api().wgpuCommandBufferRelease);
  api().wgpuCommandEncoderRelease(encoder_);
  encoder_ = nullptr;
  errors_->Check("recording kernels");  // submitting an invalid command would abort
  WGPUCommandBuffer handed_over = commands.get();
  Submit(1, &handed_over);
}

void Session::Submit(size_t count, const WGPUCommandBuffer* commands) {
  errors_->Check("before kernels were handed over");
  bool survived = driver_.Run([&] { api().wgpuQueueSubmit(queue_, count, commands); });
  if (!survived) errors_->ReportLost("the driver failed");
  working_ = true;
  errors_->Check("wgpuQueueSubmit");
}

void Session::Wait(const std::function<void()>& then) {
  if (!working_) return;
  bool survived = driver_.Run([&] {
    api().wgpuDevicePoll(device_, true, nullptr);
    if (then) then();
  });
  if (!survived) errors_->ReportLost("the driver failed");
  working_ = false;
  staged_ = 0;
  errors_->Check("wgpuDevicePoll");
}

void Session::Sync() {
  std::lock_guard<std::mutex> lock(mutex_);
  Flush();
  Wait();
  errors_->Check("waiting");
}

// Copies

void Session::Write(WGPUBuffer buffer, size_t offset, const char* data, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  errors_->Check("before a copy");
  Flush();  // the recorded kernels come first
  for (size_t done = 0; done < bytes; done += kPiece) {
    size_t piece = std::min(kPiece, bytes - done);
    api().wgpuQueueWriteBuffer(queue_, buffer, offset + done, data + done, piece);
    staged_ += piece;
    if (staged_ < kMostStaged) continue;
    Submit(0, nullptr);
    Wait();
  }
  errors_->Check("wgpuQueueWriteBuffer");
}

void Session::Read(WGPUBuffer buffer, size_t offset, char* out, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  errors_->Check("before a copy");
  for (size_t done = 0; done < bytes; done += kPiece) {
    ReadPiece(buffer, offset + done, out + done, std::min(kPiece, bytes - done));
  }
}

void Session::ReadPiece(WGPUBuffer buffer, size_t offset, char* out, size_t bytes) {
  EndPass();
  api().wgpuCommandEncoderCopyBufferToBuffer(Encoder(), buffer, offset, landing_, 0, bytes);
  Flush();
  WGPUMapAsyncStatus status = WGPUMapAsyncStatus_Error;
  WGPUBufferMapCallbackInfo callback = WGPU_BUFFER_MAP_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_AllowSpontaneous;
  callback.userdata1 = &status;
  callback.callback = [](WGPUMapAsyncStatus mapped, WGPUStringView, void* out_status, void*) {
    *static_cast<WGPUMapAsyncStatus*>(out_status) = mapped;
  };
  api().wgpuBufferMapAsync(landing_, WGPUMapMode_Read, 0, bytes, callback);
  working_ = true;
  bool was_read = false;
  // The device may be lost between mapping and reading, which makes wgpu-native abort. So the read
  // runs on the driver thread too.
  Wait([&] {
    if (status != WGPUMapAsyncStatus_Success) return;
    const void* mapped = api().wgpuBufferGetConstMappedRange(landing_, 0, bytes);
    if (mapped != nullptr) std::memcpy(out, mapped, bytes);
    api().wgpuBufferUnmap(landing_);
    was_read = mapped != nullptr;
  });
  if (!was_read) TVM_FFI_THROW(RuntimeError) << "the device's memory could not be read";
}

void Session::Copy(WGPUBuffer from, size_t from_offset, WGPUBuffer to, size_t to_offset,
                   size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  errors_->Check("before a copy");
  EndPass();
  api().wgpuCommandEncoderCopyBufferToBuffer(Encoder(), from, from_offset, to, to_offset, bytes);
}

// Kernels

const Pipeline& Session::Compile(const KernelInfo& kernel, const std::string& source) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = pipelines_.find(source);
  if (found != pipelines_.end()) return found->second;
  errors_->Check("before a kernel was compiled");
  return pipelines_.emplace(source, Build(kernel, source)).first->second;
}

Pipeline Session::Build(const KernelInfo& kernel, const std::string& source) {
  if (!facts_.has_f16 && source.find("enable f16") != std::string::npos) {
    TVM_FFI_THROW(NotImplementedError)
        << facts_.name
        << " has no 16-bit floats, which the model library uses; choose a quantization named f32 "
           "(q4f32_1)";
  }
  KeptSignalHandlers kept;
  std::vector<WGPUBindGroupLayoutEntry> entries(kernel.writes.size() + 1);
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i] = WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT;
    entries[i].binding = static_cast<uint32_t>(i);
    entries[i].visibility = WGPUShaderStage_Compute;
    bool is_pointer = i < kernel.writes.size();
    entries[i].buffer.type = !is_pointer        ? WGPUBufferBindingType_Uniform
                             : kernel.writes[i] ? WGPUBufferBindingType_Storage
                                                : WGPUBufferBindingType_ReadOnlyStorage;
    entries[i].buffer.hasDynamicOffset = !is_pointer;
  }
  Pipeline out;
  WGPUBindGroupLayoutDescriptor group = WGPU_BIND_GROUP_LAYOUT_DESCRIPTOR_INIT;
  group.entryCount = entries.size();
  group.entries = entries.data();
  out.layout = api().wgpuDeviceCreateBindGroupLayout(device_, &group);
  WGPUPipelineLayoutDescriptor layout = WGPU_PIPELINE_LAYOUT_DESCRIPTOR_INIT;
  layout.bindGroupLayoutCount = 1;
  layout.bindGroupLayouts = &out.layout;
  WGPUPipelineLayout pipeline_layout = api().wgpuDeviceCreatePipelineLayout(device_, &layout);

  WGPUShaderSourceWGSL wgsl = WGPU_SHADER_SOURCE_WGSL_INIT;
  wgsl.code = View(source);
  WGPUShaderModuleDescriptor shader = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
  shader.nextInChain = &wgsl.chain;
  // Kernels check their own bounds on all devices, so WebGPU need not. Model libraries contain
  // native code anyway.
  WGPUShaderModule module =
      api().wgpuDeviceCreateShaderModuleTrusted(device_, &shader, WGPUShaderRuntimeChecks_None);
  errors_->Check(kernel.name.c_str());
  WGPUComputePipelineDescriptor compute = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
  compute.layout = pipeline_layout;
  compute.compute.module = module;
  compute.compute.entryPoint = View(kernel.name);
  out.pipeline = api().wgpuDeviceCreateComputePipeline(device_, &compute);
  errors_->Check(kernel.name.c_str());
  api().wgpuShaderModuleRelease(module);
  api().wgpuPipelineLayoutRelease(pipeline_layout);
  return out;
}

WGPUBindGroup Session::Bind(const Pipeline& pipeline, const std::vector<Binding>& bindings,
                            size_t number_bytes) {
  std::vector<WGPUBindGroupEntry> entries(bindings.size() + 1, WGPU_BIND_GROUP_ENTRY_INIT);
  for (size_t i = 0; i < entries.size(); ++i) {
    bool is_pointer = i < bindings.size();
    entries[i].binding = static_cast<uint32_t>(i);
    entries[i].buffer = is_pointer ? bindings[i].buffer : numbers_;
    entries[i].offset = is_pointer ? bindings[i].offset : 0;
    entries[i].size = is_pointer ? bindings[i].size : number_bytes;
  }
  WGPUBindGroupDescriptor descriptor = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
  descriptor.layout = pipeline.layout;
  descriptor.entryCount = entries.size();
  descriptor.entries = entries.data();
  return api().wgpuDeviceCreateBindGroup(device_, &descriptor);
}

size_t Session::GroupKeyHash::operator()(const GroupKey& key) const {
  uint64_t hash = 0;
  for (uint64_t word : key) hash = (hash ^ (word >> 4)) * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(hash ^ hash >> 32);
}

WGPUBindGroup Session::GroupFor(const Pipeline& pipeline, const std::vector<Binding>& bindings,
                                size_t number_bytes) {
  group_key_.assign({Word(pipeline.layout), number_bytes});
  for (const Binding& binding : bindings) {
    group_key_.insert(group_key_.end(), {Word(binding.buffer), binding.offset, binding.size});
  }
  auto found = groups_.find(group_key_);
  if (found != groups_.end()) return found->second;
  if (groups_.size() >= kMostGroups) DropGroups();
  WGPUBindGroup group = Bind(pipeline, bindings, number_bytes);
  errors_->Check("wgpuDeviceCreateBindGroup");
  return groups_.emplace(group_key_, group).first->second;
}

void Session::DropGroups() {
  for (const auto& [key, group] : groups_) api().wgpuBindGroupRelease(group);
  groups_.clear();
}

void Session::Launch(const Pipeline& pipeline, const std::vector<Binding>& bindings,
                     const std::vector<uint32_t>& numbers, Groups groups) {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t bytes = numbers.size() * sizeof(uint32_t);
  if (bytes > kSlot) TVM_FFI_THROW(RuntimeError) << "a kernel takes too many numbers";
  errors_->Check("before a kernel was launched");
  if (recorded_ == kMostRecorded) Flush();
  size_t slot = recorded_ * kSlot;
  std::memcpy(number_bytes_.data() + slot, numbers.data(), bytes);
  WGPUBindGroup group = GroupFor(pipeline, bindings, (bytes + 15) / 16 * 16);
  if (pass_ == nullptr) pass_ = api().wgpuCommandEncoderBeginComputePass(Encoder(), nullptr);
  uint32_t offset = static_cast<uint32_t>(slot);
  api().wgpuComputePassEncoderSetPipeline(pass_, pipeline.pipeline);
  api().wgpuComputePassEncoderSetBindGroup(pass_, 0, group, 1, &offset);
  api().wgpuComputePassEncoderDispatchWorkgroups(pass_, groups.x, groups.y, groups.z);
  ++recorded_;
}

}  // namespace mlc::webgpu
