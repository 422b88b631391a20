#include "runtime/device/opencl/opencl_device.h"

#include <tvm/ffi/error.h>

#include <algorithm>

#include "runtime/device/memory_bound.h"
#include "runtime/device/signal_handlers.h"

namespace mlc::opencl {
namespace {

constexpr size_t kSmallestBuffer = 16;
constexpr size_t kLargestPool = size_t{256} << 20;

template <typename T>
T Ask(cl_device_id id, cl_device_info what) {
  T value{};
  return api().clGetDeviceInfo(id, what, sizeof(value), &value, nullptr) == CL_SUCCESS ? value
                                                                                       : T{};
}

std::string AskText(cl_device_id id, cl_device_info what) {
  size_t size = 0;
  if (api().clGetDeviceInfo(id, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (api().clGetDeviceInfo(id, what, size, text.data(), nullptr) != CL_SUCCESS) return "";
  return text.substr(0, text.find('\0'));
}

Limits LimitsOf(cl_device_id id) {
  Limits limits;
  limits.name = AskText(id, CL_DEVICE_NAME);
  limits.vendor = AskText(id, CL_DEVICE_VENDOR);
  limits.version = AskText(id, CL_DEVICE_VERSION);
  limits.driver = AskText(id, CL_DRIVER_VERSION);
  limits.description = limits.name + " (" + limits.version + ")";
  limits.interface = "OpenCL";
  limits.is_processor = (Ask<cl_device_type>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  limits.has_own_memory = !limits.is_processor && !Ask<cl_bool>(id, CL_DEVICE_HOST_UNIFIED_MEMORY);
  limits.has_f16 =
      (" " + AskText(id, CL_DEVICE_EXTENSIONS) + " ").find(" cl_khr_fp16 ") != std::string::npos;
  limits.memory = std::min<size_t>(Ask<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE), MemoryBound());
  limits.largest_buffer = Ask<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  limits.local_memory = Ask<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE);
  limits.group_size = Ask<size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  limits.alignment = std::max<size_t>(1, Ask<cl_uint>(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
  return limits;
}

std::vector<cl_platform_id> Platforms(std::string* problem) {
  cl_uint count = 0;
  if (api().clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) {
    *problem = "libOpenCL is there, and no driver is registered with it";
    return {};
  }
  std::vector<cl_platform_id> platforms(count);
  if (api().clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS) platforms.clear();
  return platforms;
}

std::vector<cl_device_id> DevicesOf(cl_platform_id platform, cl_device_type type) {
  cl_uint count = 0;
  if (api().clGetDeviceIDs(platform, type, 0, nullptr, &count) != CL_SUCCESS) return {};
  std::vector<cl_device_id> ids(count);
  if (count == 0 ||
      api().clGetDeviceIDs(platform, type, count, ids.data(), nullptr) != CL_SUCCESS) {
    return {};
  }
  return ids;
}

DeviceList FindDevices() {
  KeptSignalHandlers kept;
  DeviceList list;
  list.problem = api().problem;
  if (!list.problem.empty()) return list;
  std::vector<cl_platform_id> platforms = Platforms(&list.problem);
  for (cl_device_type type : {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU}) {
    for (cl_platform_id platform : platforms) {
      for (cl_device_id id : DevicesOf(platform, type)) {
        int index = static_cast<int>(list.devices.size());
        list.devices.push_back(std::make_unique<ClDevice>(id, index, LimitsOf(id)));
      }
    }
  }
  if (list.devices.empty() && list.problem.empty()) {
    list.problem = "the OpenCL drivers offer no device";
  }
  return list;
}

}  // namespace

cl_mem Buffer::At(size_t offset) {
  if (offset == 0) return memory;
  cl_mem& tail = tails[offset];
  if (tail != nullptr) return tail;
  if (offset % device->limits().alignment != 0 || offset >= capacity) {
    TVM_FFI_THROW(RuntimeError) << "a kernel cannot take memory from byte " << offset
                                << " of a buffer on: OpenCL wants multiples of "
                                << device->limits().alignment;
  }
  cl_buffer_region region{offset, capacity - offset};
  cl_int code;
  tail = api().clCreateSubBuffer(memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region,
                                 &code);
  session->Check(code, "clCreateSubBuffer");
  return tail;
}

std::shared_ptr<Session> ClDevice::session() {
  std::lock_guard<std::mutex> lock(mutex_);
  return LiveSession();
}

const std::shared_ptr<Session>& ClDevice::LiveSession() {
  if (session_ != nullptr && !session_->lost()) return session_;
  while (Buffer* old = pool_.TakeOldest()) Destroy(old);
  session_.reset();
  taken_ = 0;  // the buffers of a lost session no longer count
  session_ = Session::Open(id_, "opencl:" + std::to_string(index_) + " (" + limits_.name + ")");
  return session_;
}

void ClDevice::Finish() {
  std::shared_ptr<Session> session;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    session = session_;
  }
  // A caller that reads results of a lost session gets the error then.
  if (session == nullptr || session->lost()) return;
  session->Check(api().clFinish(session->queue()), "clFinish");
}

Buffer* ClDevice::Allocate(size_t bytes) {
  bytes = std::max(bytes, kSmallestBuffer);
  std::lock_guard<std::mutex> lock(mutex_);
  const std::shared_ptr<Session>& session = LiveSession();
  if (Buffer* pooled = pool_.Take(bytes)) return pooled;
  cl_int code = CL_SUCCESS;
  cl_mem memory = TryCreate(bytes, &code);
  if (memory == nullptr) {
    while (Buffer* old = pool_.TakeOldest()) Destroy(old);
    (void)api().clFinish(session->queue());  // running kernels may still use the released buffer
    memory = TryCreate(bytes, &code);
  }
  if (memory == nullptr) session->CheckLost(code, "clCreateBuffer");
  auto buffer = std::make_unique<Buffer>();
  buffer->device = this;
  buffer->session = session;
  buffer->memory = memory;
  buffer->capacity = bytes;
  if (memory != nullptr) buffer->address = Addresses().Reserve(buffer.get(), bytes);
  if (buffer->address == nullptr) {
    if (memory != nullptr) api().clReleaseMemObject(memory);
    TVM_FFI_THROW(MemoryError) << limits_.name << " (opencl:" << index_ << ") has no room for "
                               << bytes << " bytes: " << taken_ << " of its " << limits_.memory
                               << " are in use here, and a single buffer holds "
                               << limits_.largest_buffer << " at most (" << ErrorName(code) << ")";
  }
  taken_ += bytes;
  return buffer.release();
}

// Some drivers allocate more than there is, and fail in the middle of a step. So the sum is limited
// here.
cl_mem ClDevice::TryCreate(size_t bytes, cl_int* code) {
  *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (bytes > limits_.memory || taken_ > limits_.memory - bytes) return nullptr;
  *code = CL_INVALID_BUFFER_SIZE;
  if (limits_.largest_buffer != 0 && bytes > limits_.largest_buffer) return nullptr;
  cl_mem memory =
      api().clCreateBuffer(session_->context(), CL_MEM_READ_WRITE, bytes, nullptr, code);
  return *code == CL_SUCCESS ? memory : nullptr;
}

void ClDevice::Free(Buffer* buffer) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (buffer->session != session_ || session_->lost()) return Destroy(buffer);
  pool_.Put(buffer);
  size_t bound = std::min(kLargestPool, limits_.memory / 16);
  while (pool_.bytes() > bound) Destroy(pool_.TakeOldest());
}

void ClDevice::Destroy(Buffer* buffer) {
  for (const auto& [offset, tail] : buffer->tails) {
    if (tail != nullptr) api().clReleaseMemObject(tail);
  }
  api().clReleaseMemObject(buffer->memory);
  Addresses().Release(buffer->address);
  if (buffer->session == session_) taken_ -= buffer->capacity;
  delete buffer;
}

size_t ClDevice::Available() {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t used = taken_ - pool_.bytes();
  return used > limits_.memory ? 0 : limits_.memory - used;
}

AddressMap<Buffer>& Addresses() {
  static auto* addresses = new AddressMap<Buffer>();
  return *addresses;
}

AddressMap<Buffer>::Place LivePlaceOf(const void* pointer) {
  AddressMap<Buffer>::Place place = Addresses().Find(pointer);
  if (place.buffer == nullptr) TVM_FFI_THROW(RuntimeError) << "this is no memory of OpenCL's";
  place.buffer->session->MustLive();
  return place;
}

const DeviceList& Devices() {
  static const DeviceList* list = new DeviceList(FindDevices());
  return *list;
}

ClDevice& DeviceAt(int index) { return Devices().At("opencl", index); }

}  // namespace mlc::opencl
