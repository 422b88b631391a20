#include "runtime/device/webgpu/webgpu_module.h"

#include <tvm/ffi/cast.h>
#include <tvm/ffi/function.h>

#include <cstring>
#include <memory>

namespace mlc::webgpu {

namespace ffi = tvm::ffi;

namespace {

// WGSL's numbers have 32 bits.
uint32_t Word(DLDataType type, const TVMFFIAny& value) {
  uint32_t word = 0;
  if (type.code == kDLFloat && type.bits == 32) {
    float number = static_cast<float>(value.v_float64);
    std::memcpy(&word, &number, sizeof(word));
    return word;
  }
  if (type.code == kDLFloat || type.bits > 32) {
    TVM_FFI_THROW(RuntimeError) << "a kernel takes a number of " << int{type.bits}
                                << " bits, which this backend does not pass";
  }
  return static_cast<uint32_t>(value.v_int64);
}

// A dimension has a limit. So kernels compute their x as blockIdx.z * gridDim.x + blockIdx.x.
Groups Fold(const LaunchSize& size, uint32_t most, const std::string& name) {
  size_t x = size.groups[0], y = size.groups[1], z = size.groups[2];
  if (x > most && z == 1) {
    z = (x + most - 1) / most;
    x = (x + z - 1) / z;
  }
  if (x > most || y > most || z > most) {
    TVM_FFI_THROW(RuntimeError) << name << " wants " << size.groups[0] << " x " << y << " x "
                                << size.groups[2] << " work-groups, and the device offers " << most
                                << " along a side";
  }
  return {static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)};
}

}  // namespace

int WebGpuModule::GetPropertyMask() const {
  return ffi::Module::kBinarySerializable | ffi::Module::kRunnable;
}

ffi::String WebGpuModule::InspectSource(const ffi::String&) const {
  std::string text;
  for (const auto& [name, source] : table_.sources) text += source + "\n";
  return text;
}

void WebGpuModule::Prepare(int index) {
  std::shared_ptr<Session> session = DeviceAt(index).session();
  for (const auto& [name, kernel] : table_.kernels) {
    session->Compile(kernel, table_.sources.at(name));
  }
}

const Pipeline& WebGpuModule::Kernel::For(Session* used) {
  std::lock_guard<std::mutex> lock(mutex);
  if (session != used->serial()) {
    pipeline = &used->Compile(*info, *source);
    session = used->serial();
  }
  return *pipeline;
}

void WebGpuModule::Launch(Kernel* launched, ffi::PackedArgs arguments) {
  const KernelInfo& kernel = *launched->info;
  if (arguments.size() != kernel.num_arguments()) {
    TVM_FFI_THROW(TypeError) << "the kernel " << kernel.name << " takes " << kernel.num_arguments()
                             << " arguments, not " << arguments.size();
  }
  const TVMFFIAny* values = reinterpret_cast<const TVMFFIAny*>(arguments.data());
  LaunchSize size = kernel.SizeOf(values);
  if (size.empty) return;
  std::vector<Binding> bindings;
  std::vector<uint32_t> numbers;
  Buffer* first = nullptr;
  for (size_t i = 0; i < kernel.args.size(); ++i) {
    if (kernel.args[i].code != kDLOpaqueHandle) {
      numbers.push_back(Word(kernel.args[i], values[i]));
      continue;
    }
    AddressMap<Buffer>::Place place = PlaceOf(values[i].v_ptr);
    if (first == nullptr) first = place.buffer;
    if (place.buffer->session != first->session) {
      first->session->CheckNotLost();
      place.buffer->session->CheckNotLost();
      TVM_FFI_THROW(RuntimeError) << kernel.name << " is given memory of two devices";
    }
    bindings.push_back(place.buffer->At(place.offset));
  }
  if (first == nullptr) TVM_FFI_THROW(RuntimeError) << kernel.name << " is given no memory";
  numbers.push_back(static_cast<uint32_t>(size.groups[0] - 1));  // packGridDimX: the last x
  uint32_t most = first->device->facts().limits.maxComputeWorkgroupsPerDimension;
  Groups groups = Fold(size, most, kernel.name);
  Session& session = *first->session;
  session.Launch(launched->For(&session), bindings, numbers, groups);
}

ffi::Optional<ffi::Function> WebGpuModule::GetFunction(const ffi::String& name) {
  ffi::ObjectRef keep = ffi::GetRef<ffi::ObjectRef>(this);
  if (name == "mlc_prepare") {
    return ffi::Function::FromTyped(
        [this, keep](int64_t index) { Prepare(static_cast<int>(index)); });
  }
  auto found = table_.kernels.find(name);
  if (found == table_.kernels.end()) return std::nullopt;
  auto kernel = std::make_shared<Kernel>();
  kernel->info = &found->second;
  kernel->source = &table_.sources.at(name);
  return ffi::Function::FromPacked([this, keep, kernel](ffi::PackedArgs arguments, ffi::Any*) {
    Launch(kernel.get(), arguments);
  });
}

}  // namespace mlc::webgpu
