#include "runtime/device/opencl/opencl_module.h"

#include <tvm/ffi/cast.h>
#include <tvm/ffi/function.h>

#include "runtime/device/opencl/opencl_program.h"

namespace mlc::opencl {

namespace ffi = tvm::ffi;

namespace {

ClDevice& DeviceOf(const KernelInfo& kernel, const TVMFFIAny* arguments) {
  const void* pointer = nullptr;
  for (size_t i = 0; i < kernel.args.size() && pointer == nullptr; ++i) {
    if (kernel.args[i].code == kDLOpaqueHandle) pointer = arguments[i].v_ptr;
  }
  return *PlaceOf(pointer).buffer->device;
}

template <typename T>
void SetNumber(cl_kernel kernel, cl_uint index, T value) {
  Check(api().clSetKernelArg(kernel, index, sizeof(value), &value), "clSetKernelArg");
}

void SetArgument(cl_kernel kernel, cl_uint index, DLDataType type, const TVMFFIAny& value) {
  if (type.code == kDLOpaqueHandle) {
    cl_mem memory = nullptr;
    if (value.v_ptr != nullptr) {
      AddressMap<Buffer>::Place place = PlaceOf(value.v_ptr);
      memory = place.buffer->At(place.offset);
    }
    return SetNumber(kernel, index, memory);
  }
  bool is_float = type.code == kDLFloat;
  if (is_float && type.bits == 32) {
    return SetNumber(kernel, index, static_cast<cl_float>(value.v_float64));
  }
  if (is_float && type.bits == 64) return SetNumber(kernel, index, value.v_float64);
  if (!is_float && type.bits == 64) return SetNumber(kernel, index, value.v_int64);
  if (!is_float && type.bits == 32) {
    return SetNumber(kernel, index, static_cast<cl_int>(value.v_int64));
  }
  TVM_FFI_THROW(RuntimeError) << "a kernel takes a number of " << int{type.bits}
                              << " bits, which this backend does not pass";
}

}  // namespace

OpenClModule::~OpenClModule() {
  for (const auto& [index, built] : built_) {
    for (const auto& [name, kernel] : built.kernels) api().clReleaseKernel(kernel);
    if (built.program != nullptr) api().clReleaseProgram(built.program);
  }
}

int OpenClModule::GetPropertyMask() const {
  return ffi::Module::kBinarySerializable | ffi::Module::kRunnable;
}

OpenClModule::Built& OpenClModule::BuiltFor(ClDevice& device) {
  Built& built = built_[device.index()];
  if (built.program != nullptr) return built;
  cl_program program = BuildProgram(device, table_.code);
  for (const auto& [name, info] : table_.kernels) {
    if (built.kernels.count(info.name) != 0) continue;  // after a failure that was reported
    cl_int code;
    cl_kernel kernel = api().clCreateKernel(program, info.name.c_str(), &code);
    if (code != CL_SUCCESS) api().clReleaseProgram(program);
    Check(code, ("clCreateKernel " + info.name).c_str());
    built.kernels.emplace(info.name, kernel);
  }
  built.program = program;
  return built;
}

void OpenClModule::Launch(const KernelInfo& kernel, ffi::PackedArgs arguments) {
  if (arguments.size() != kernel.num_arguments()) {
    TVM_FFI_THROW(TypeError) << "the kernel " << kernel.name << " takes " << kernel.num_arguments()
                             << " arguments, not " << arguments.size();
  }
  const TVMFFIAny* values = reinterpret_cast<const TVMFFIAny*>(arguments.data());
  LaunchSize size = kernel.SizeOf(values);
  if (size.empty) return;
  ClDevice& device = DeviceOf(kernel, values);
  std::lock_guard<std::mutex> lock(mutex_);
  cl_kernel compiled = BuiltFor(device).kernels.at(kernel.name);
  for (size_t i = 0; i < kernel.args.size(); ++i) {
    SetArgument(compiled, static_cast<cl_uint>(i), kernel.args[i], values[i]);
  }
  size_t items[3];
  for (int i = 0; i < 3; ++i) items[i] = size.groups[i] * size.items[i];
  Check(api().clEnqueueNDRangeKernel(device.queue(), compiled, 3, nullptr, items, size.items.data(),
                                     0, nullptr, nullptr),
        kernel.name.c_str());
}

ffi::Optional<ffi::Function> OpenClModule::GetFunction(const ffi::String& name) {
  ffi::ObjectRef keep = ffi::GetRef<ffi::ObjectRef>(this);
  if (name == "mlc_prepare") {
    return ffi::Function::FromTyped([this, keep](int64_t index) {
      std::lock_guard<std::mutex> lock(mutex_);
      BuiltFor(DeviceAt(static_cast<int>(index)));
    });
  }
  auto found = table_.kernels.find(name);
  if (found == table_.kernels.end()) return std::nullopt;
  const KernelInfo* kernel = &found->second;
  return ffi::Function::FromPacked(
      [this, keep, kernel](ffi::PackedArgs arguments, ffi::Any*) { Launch(*kernel, arguments); });
}

}  // namespace mlc::opencl
