#include "runtime/device/opencl/opencl_module.h"

#include <tvm/ffi/cast.h>
#include <tvm/ffi/function.h>

#include <algorithm>

#include "runtime/device/kernel_arguments.h"
#include "runtime/device/opencl/opencl_program.h"

namespace mlc::opencl {

namespace ffi = tvm::ffi;

namespace {

void SetArgument(cl_kernel kernel, cl_uint index, DLDataType type, const TVMFFIAny& value,
                 const AddressMap<Buffer>::Place& place) {
  if (type.code == kDLOpaqueHandle) {
    cl_mem memory = place.buffer == nullptr ? nullptr : place.buffer->At(place.offset);
    return Check(api().clSetKernelArg(kernel, index, sizeof(memory), &memory), "clSetKernelArg");
  }
  KernelNumber number = KernelNumberOf(type, value);
  Check(api().clSetKernelArg(kernel, index, number.size, number.bytes), "clSetKernelArg");
}

}  // namespace

OpenClModule::~OpenClModule() {
  for (auto& [index, built] : built_) Release(&built);
}

void OpenClModule::Release(Built* built) {
  for (const auto& [name, kernel] : built->kernels) api().clReleaseKernel(kernel);
  if (built->program != nullptr) api().clReleaseProgram(built->program);
  *built = Built();
}

int OpenClModule::GetPropertyMask() const {
  return ffi::Module::kBinarySerializable | ffi::Module::kRunnable;
}

OpenClModule::Built& OpenClModule::BuiltFor(const ClDevice& device,
                                            const std::shared_ptr<Session>& session) {
  Built& built = built_[device.index()];
  if (built.session == session) return built;
  Release(&built);
  Built fresh;
  fresh.program = BuildProgram(device, *session, table_.code);
  for (const auto& [name, info] : table_.kernels) {
    cl_int code;
    cl_kernel kernel = api().clCreateKernel(fresh.program, info.name.c_str(), &code);
    if (code != CL_SUCCESS) {
      Release(&fresh);
      session->Check(code, ("clCreateKernel " + info.name).c_str());
    }
    fresh.kernels.emplace(info.name, kernel);
  }
  fresh.session = session;
  return built = std::move(fresh);
}

// Called before anything is built or set: an argument may belong to a lost session.
void OpenClModule::FindPlaces(const KernelInfo& kernel, const TVMFFIAny* values) {
  places_.assign(kernel.args.size(), {});
  for (size_t i = 0; i < kernel.args.size(); ++i) {
    if (kernel.args[i].code != kDLOpaqueHandle || values[i].v_ptr == nullptr) continue;
    places_[i] = LivePlaceOf(values[i].v_ptr);
  }
}

void OpenClModule::Launch(const KernelInfo& kernel, ffi::PackedArgs arguments) {
  const TVMFFIAny* values = KernelValues(kernel, arguments);
  LaunchSize size = kernel.SizeOf(values);
  if (size.empty) return;
  std::lock_guard<std::mutex> lock(mutex_);
  FindPlaces(kernel, values);
  auto first = std::find_if(places_.begin(), places_.end(), [](auto& p) { return p.buffer; });
  if (first == places_.end()) TVM_FFI_THROW(RuntimeError) << kernel.name << ": has no memory";
  const std::shared_ptr<Session>& session = first->buffer->session;
  cl_kernel compiled = BuiltFor(*first->buffer->device, session).kernels.at(kernel.name);
  for (size_t i = 0; i < kernel.args.size(); ++i) {
    SetArgument(compiled, static_cast<cl_uint>(i), kernel.args[i], values[i], places_[i]);
  }
  size_t items[3];
  for (int i = 0; i < 3; ++i) items[i] = size.groups[i] * size.items[i];
  session->Check(api().clEnqueueNDRangeKernel(session->queue(), compiled, 3, nullptr, items,
                                              size.items.data(), 0, nullptr, nullptr),
                 kernel.name.c_str());
}

ffi::Optional<ffi::Function> OpenClModule::GetFunction(const ffi::String& name) {
  ffi::ObjectRef keep = ffi::GetRef<ffi::ObjectRef>(this);
  if (name == "mlc_prepare") {
    return ffi::Function::FromTyped([this, keep](int64_t index) {
      std::lock_guard<std::mutex> lock(mutex_);
      ClDevice& device = DeviceAt(static_cast<int>(index));
      BuiltFor(device, device.session());
    });
  }
  auto found = table_.kernels.find(name);
  if (found == table_.kernels.end()) return std::nullopt;
  const KernelInfo* kernel = &found->second;
  return ffi::Function::FromPacked(
      [this, keep, kernel](ffi::PackedArgs arguments, ffi::Any*) { Launch(*kernel, arguments); });
}

}  // namespace mlc::opencl
