#include "runtime/device/rocm/hip_module.h"

#include <tvm/ffi/cast.h>
#include <tvm/ffi/function.h>

#include <vector>

#include "runtime/device/kernel_arguments.h"

namespace mlc::rocm {

namespace ffi = tvm::ffi;

namespace {

const HipDevice* DeviceOf(const KernelInfo& kernel, const TVMFFIAny* values) {
  for (size_t i = 0; i < kernel.args.size(); ++i) {
    if (kernel.args[i].code != kDLOpaqueHandle || values[i].v_ptr == nullptr) continue;
    if (Buffer* buffer = Addresses().Find(values[i].v_ptr).buffer) return buffer->device;
  }
  TVM_FFI_THROW(RuntimeError) << kernel.name << " is given no memory of ROCm's";
}

}  // namespace

HipModule::Loaded::~Loaded() {
  if (program.module != nullptr) (void)api().hipModuleUnload(program.module);
}

const HipModule::Loaded& HipModule::LoadedOn(const HipDevice& device) {
  device.Choose();
  std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<Loaded>& loaded = loaded_[device.index()];
  if (loaded != nullptr) return *loaded;
  auto made = std::make_unique<Loaded>();
  LoadProgram(device, table_.code, &made->program);
  for (const auto& [name, info] : table_.kernels) {
    Check(api().hipModuleGetFunction(&made->kernels[info.name], made->program.module,
                                     info.name.c_str()),
          ("hipModuleGetFunction " + info.name).c_str());
  }
  loaded = std::move(made);
  return *loaded;
}

void HipModule::Launch(const KernelInfo& kernel, ffi::PackedArgs arguments) {
  const TVMFFIAny* values = KernelValues(kernel, arguments);
  LaunchSize size = kernel.SizeOf(values);
  if (size.empty) return;
  const HipDevice& device = *DeviceOf(kernel, values);
  Handle function = LoadedOn(device).kernels.at(kernel.name);
  std::vector<KernelNumber> numbers(kernel.args.size());
  std::vector<void*> places(kernel.args.size());
  for (size_t i = 0; i < places.size(); ++i) {
    bool is_pointer = kernel.args[i].code == kDLOpaqueHandle;
    if (!is_pointer) numbers[i] = KernelNumberOf(kernel.args[i], values[i]);
    places[i] =
        is_pointer ? const_cast<void**>(&values[i].v_ptr) : static_cast<void*>(numbers[i].bytes);
  }
  auto groups = [&size](int i) { return static_cast<unsigned>(size.groups[i]); };
  auto items = [&size](int i) { return static_cast<unsigned>(size.items[i]); };
  Check(api().hipModuleLaunchKernel(function, groups(0), groups(1), groups(2), items(0), items(1),
                                    items(2), 0, device.stream(), places.data(), nullptr),
        kernel.name.c_str());
}

ffi::Optional<ffi::Function> HipModule::GetFunction(const ffi::String& name) {
  ffi::ObjectRef keep = ffi::GetRef<ffi::ObjectRef>(this);
  if (name == "mlc_prepare") {
    return ffi::Function::FromTyped(
        [this, keep](int64_t index) { LoadedOn(DeviceAt(static_cast<int>(index))); });
  }
  auto found = table_.kernels.find(name);
  if (found == table_.kernels.end()) return std::nullopt;
  const KernelInfo* kernel = &found->second;
  return ffi::Function::FromPacked(
      [this, keep, kernel](ffi::PackedArgs arguments, ffi::Any*) { Launch(*kernel, arguments); });
}

}  // namespace mlc::rocm
