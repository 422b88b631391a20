// Registers the page's WebGPU with TVM's runtime: memory (browser_device.h) and the kernels of a
// model library, which launch pipelines of the page.
#include <tvm/ffi/cast.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/browser/browser_device.h"
#include "runtime/device/browser/page_gpu.h"
#include "runtime/device/kernel_arguments.h"
#include "runtime/device/kernel_table.h"
#include "runtime/device/plugin.h"
#include "runtime/device/wgsl_launch.h"

namespace mlc::browser {
namespace {

namespace ffi = tvm::ffi;

// The kernels of one model library.
class BrowserModule final : public ffi::ModuleObj {
 public:
  BrowserModule(ffi::Bytes bytes, KernelTable table)
      : bytes_(std::move(bytes)), table_(std::move(table)) {}

  const char* kind() const final { return "webgpu"; }
  int GetPropertyMask() const final {
    return ffi::Module::kBinarySerializable | ffi::Module::kRunnable;
  }
  ffi::Bytes SaveToBytes() const final { return bytes_; }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final;

 private:
  // Begins to compile all kernels. Weights are loaded meanwhile; the first read waits for both.
  void Prepare() {
    for (const auto& [name, kernel] : table_.kernels) (void)PipelineOf(kernel);
  }
  uint32_t PipelineOf(const KernelInfo& kernel);
  void Launch(const KernelInfo& kernel, ffi::PackedArgs arguments);

  ffi::Bytes bytes_;
  KernelTable table_;
  std::map<std::string, uint32_t> pipelines_;
};

uint32_t BrowserModule::PipelineOf(const KernelInfo& kernel) {
  uint32_t& pipeline = pipelines_[kernel.name];
  if (pipeline == 0) {
    std::vector<uint8_t> writes(kernel.writes.begin(), kernel.writes.end());
    pipeline = GpuPipeline(kernel.name.c_str(), table_.sources.at(kernel.name).c_str(),
                           writes.data(), static_cast<uint32_t>(writes.size()));
  }
  return pipeline;
}

void BrowserModule::Launch(const KernelInfo& kernel, ffi::PackedArgs arguments) {
  const TVMFFIAny* values = KernelValues(kernel, arguments);
  LaunchSize size = kernel.SizeOf(values);
  if (size.empty) return;
  std::vector<uint32_t> bindings, words;
  const Facts* facts = nullptr;
  for (size_t i = 0; i < kernel.args.size(); ++i) {
    if (kernel.args[i].code != kDLOpaqueHandle) {
      words.push_back(WgslWord(kernel.args[i], values[i]));
      continue;
    }
    AddressMap<Buffer>::Place place = PlaceOf(values[i].v_ptr);
    facts = &place.buffer->device->facts();
    if (place.offset % facts->offset_alignment != 0 || place.offset >= place.buffer->capacity) {
      TVM_FFI_THROW(RuntimeError) << "a kernel cannot take memory from byte " << place.offset
                                  << " of a buffer on: WebGPU wants multiples of "
                                  << facts->offset_alignment;
    }
    bindings.insert(bindings.end(), {place.buffer->handle, static_cast<uint32_t>(place.offset),
                                     static_cast<uint32_t>(place.buffer->capacity - place.offset)});
  }
  if (facts == nullptr) TVM_FFI_THROW(RuntimeError) << kernel.name << " is given no memory";
  words.push_back(static_cast<uint32_t>(size.groups[0] - 1));  // packGridDimX: the last x
  std::array<uint32_t, 3> groups = FoldGroups(size, facts->most_groups, kernel.name);
  GpuLaunch(PipelineOf(kernel), bindings.data(), static_cast<uint32_t>(bindings.size() / 3),
            words.data(), static_cast<uint32_t>(words.size()), groups[0], groups[1], groups[2]);
}

ffi::Optional<ffi::Function> BrowserModule::GetFunction(const ffi::String& name) {
  ffi::ObjectRef keep = ffi::GetRef<ffi::ObjectRef>(this);
  if (name == "mlc_prepare") {
    return ffi::Function::FromTyped([this, keep](int64_t) { Prepare(); });
  }
  auto found = table_.kernels.find(name);
  if (found == table_.kernels.end()) return std::nullopt;
  const KernelInfo* kernel = &found->second;
  return ffi::Function::FromPacked(
      [this, keep, kernel](ffi::PackedArgs arguments, ffi::Any*) { Launch(*kernel, arguments); });
}

struct Backend {
  static constexpr const char* kName = "webgpu";
  static constexpr DLDeviceType kType = kDLWebGPU;

  static const DeviceListOf<GpuDevice>& Devices() { return browser::Devices(); }
  static GpuDevice& DeviceAt(int index) { return browser::Devices().At("webgpu", index); }
  static AddressMap<Buffer>& Addresses() { return browser::Addresses(); }
  static const DeviceTraits& Traits(const GpuDevice& device) { return device.facts(); }
  static void Choose(GpuDevice&) {}
  static void Wait(GpuDevice&) {}  // commands run in order, and reading waits
  static void Read(const char* from, char* to, size_t bytes) {
    auto place = PlaceOf(from);
    browser::Read(*place.buffer, place.offset, to, bytes);
  }
  static void Write(const char* from, char* to, size_t bytes) {
    auto place = PlaceOf(to);
    browser::Write(*place.buffer, place.offset, from, bytes);
  }
  static void Copy(const char* from, char* to, size_t bytes) {
    auto a = PlaceOf(from), b = PlaceOf(to);
    browser::Copy(*a.buffer, a.offset, *b.buffer, b.offset, bytes);
  }
  static ffi::Module Load(const ffi::Bytes& bytes) {
    Result<KernelTable> table = ParseWgslTable(std::string_view(bytes.data(), bytes.size()));
    if (!table.ok()) TVM_FFI_THROW(ValueError) << table.status().message();
    return ffi::Module(ffi::make_object<BrowserModule>(bytes, std::move(table).value()));
  }
};

TVM_FFI_STATIC_INIT_BLOCK() { RegisterBackend<Backend>(); }

}  // namespace
}  // namespace mlc::browser
