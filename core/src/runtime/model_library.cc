#include "runtime/model_library.h"

#include <cstring>
#include <functional>
#include <mutex>

#include "base/hash.h"
#include "platform/file.h"
#include "platform/shared_library.h"
#include "runtime/library_trailer.h"
#include "runtime/library_variants.h"
#include "runtime/model_library_impl.h"
#include "runtime/parallel.h"

namespace mlc {

namespace ffi = tvm::ffi;

TensorList::TensorList(const std::vector<Tensor>& tensors) : impl_(std::make_shared<Impl>()) {
  for (const Tensor& tensor : tensors) impl_->tensors.push_back(tensor.impl()->tensor);
}

namespace {

constexpr const char* kSystemScheme = "system://";

// Builds the kernels of a device backend here, and not in the first request.
void Prepare(const ffi::Module& module, int device_index) {
  for (const ffi::Any& import : module->imports()) {
    ffi::Module imported = import.cast<ffi::Module>();
    ffi::Optional<ffi::Function> prepare = imported->GetFunction("mlc_prepare");
    if (prepare.has_value()) prepare.value()(static_cast<int64_t>(device_index));
    Prepare(imported, device_index);
  }
}

// If the library needs a backend that this process did not open, that is the user's mistake.
Status ForThisDevice(const Status& status, const std::string& path, Device device) {
  if (status.message().find("load_from_bytes") == std::string::npos) return status;
  return InvalidArgument(path + ": was compiled for another kind of device than " + device.name() +
                         "; compile it again with --device, or leave model_lib out")
      .WithParam("model_lib");
}

// The code around a GPU's kernels keeps them in static variables, which all loads of one file
// share. A second engine would run the first engine's kernels, and run them after they are freed.
// So a file that is loaded already is loaded from a copy.
Result<std::unique_ptr<TemporaryLibrary>> CopyIfLoaded(std::string_view bytes,
                                                       const std::string& path, Device device) {
  void* loaded = device.kind() == "cpu" ? nullptr : OpenIfLoaded(path.c_str());
  if (loaded == nullptr) return std::unique_ptr<TemporaryLibrary>();
  CloseLibrary(loaded);
  return TemporaryLibrary::Write(bytes);
}

}  // namespace

ffi::Function* ModelLibrary::Impl::Find(const std::string& name) {
  auto found = functions.find(name);
  if (found != functions.end()) return &found->second;
  ffi::Optional<ffi::Function> function = vm.value()->GetFunction(name, true);
  if (!function.has_value()) return nullptr;
  return &functions.emplace(name, function.value()).first->second;
}

Status ModelLibrary::Impl::Call(const std::string& name, const std::vector<Argument>& arguments,
                                ffi::Any* out) {
  ffi::Function* function = Find(name);
  if (function == nullptr) return Internal(path + ": has no function '" + name + "'");
  std::vector<ffi::AnyView> views;
  for (const Argument& argument : arguments) {
    if (const Tensor* tensor = std::get_if<Tensor>(&argument)) {
      views.emplace_back(tensor->impl()->tensor);
    } else {
      views.emplace_back(std::get<TensorList>(argument).impl()->tensors);
    }
  }
  return CatchTvm(
      name, [&] { function->CallPacked(views.data(), static_cast<int32_t>(views.size()), out); });
}

Result<std::string> ModelLibrary::Impl::Text(const std::string& name) {
  ffi::Any value;
  MLC_RETURN_IF_ERROR(Call(name, {}, &value));
  std::string text;
  MLC_RETURN_IF_ERROR(CatchTvm(path, [&] { text = value.cast<ffi::String>(); }));
  return text;
}

// Starts the virtual machine of the module that `open` returns.
Status ModelLibrary::Impl::Start(Device device, const std::function<ffi::Module()>& open) {
  // tvm::runtime::memory::AllocatorType::kNaive. The pooled allocator keeps a buffer for each size,
  // and every prompt length is a size.
  constexpr int kNaiveAllocator = 1;
  Status started = CatchTvm(path, [&] {
    executable = open();
    ffi::Function load = executable.value()->GetFunction("vm_load_executable", true).value();
    vm = load().cast<ffi::Module>();
    vm.value()
        ->GetFunction("vm_initialization", true)
        .value()(device.type, device.index, kNaiveAllocator, int{kDLCPU}, 0, kNaiveAllocator);
    Prepare(executable.value(), device.index);
  });
  return started.ok() ? started : ForThisDevice(started, path, device);
}

ModelLibrary::ModelLibrary(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ModelLibrary::~ModelLibrary() = default;

Result<std::unique_ptr<ModelLibrary>> ModelLibrary::Load(const std::string& path, Device device) {
  return path.rfind(kSystemScheme, 0) == 0 ? LoadLinked(path, device) : LoadFile(path, device);
}

Result<std::unique_ptr<ModelLibrary>> ModelLibrary::LoadFile(const std::string& path,
                                                             Device device) {
  MLC_ASSIGN_OR_RETURN(std::shared_ptr<MappedFile> file, MappedFile::Open(path));
  std::string_view bytes(reinterpret_cast<const char*>(file->data()),
                         static_cast<size_t>(file->size()));
  MLC_RETURN_IF_ERROR(CheckLibraryTrailer(bytes, path));
  std::unique_ptr<TemporaryLibrary> variant;
  if (HasVariants(bytes)) {
    MLC_ASSIGN_OR_RETURN(std::string_view chosen, VariantForThisCpu(bytes, path));
    MLC_ASSIGN_OR_RETURN(variant, TemporaryLibrary::Write(chosen));
  }
  static std::mutex* loading = new std::mutex();
  std::unique_lock<std::mutex> lock(*loading);
  if (!variant) {
    MLC_ASSIGN_OR_RETURN(variant, CopyIfLoaded(bytes, path, device));
  }
  const std::string& loadable = variant ? variant->path() : path;
  std::unique_ptr<ModelLibrary> library(new ModelLibrary(std::make_unique<Impl>()));
  library->impl_->path = path;
  MLC_RETURN_IF_ERROR(library->impl_->Start(device, [&] {
    ffi::Module module = ffi::Module::LoadFromFile(loadable);
    lock.unlock();
    return module;
  }));
  MLC_RETURN_IF_ERROR(ShareLoopsOf(loadable));
  MLC_RETURN_IF_ERROR(library->ReadMetadata());
  library->id_ = LibraryId(bytes);
  return library;
}

Result<std::unique_ptr<ModelLibrary>> ModelLibrary::LoadLinked(const std::string& path,
                                                               Device device) {
  std::string name = path.substr(std::strlen(kSystemScheme));
  std::optional<ffi::Function> find = ffi::Function::GetGlobal("ffi.SystemLib");
  if (!find) return Unsupported("this build finds no model libraries in the program");
  std::unique_ptr<ModelLibrary> library(new ModelLibrary(std::make_unique<Impl>()));
  library->impl_->path = path;
  bool is_linked = true;
  Status started = library->impl_->Start(device, [&] {
    ffi::Module module = (*find)(ffi::String(name)).cast<ffi::Module>();
    is_linked = module->GetFunction("vm_load_executable", true).has_value();
    if (is_linked) return module;
    // MLC-LLM's apps name a library without the final underscore of its prefix.
    module = (*find)(ffi::String(name + "_")).cast<ffi::Module>();
    is_linked = module->GetFunction("vm_load_executable", true).has_value();
    return module;
  });
  if (!is_linked) {
    return NotFound(path + ": no model library with the prefix '" + name +
                    "' is linked into this program; link the whole archive of mlc_llm compile "
                    "--system-lib-prefix " +
                    name)
        .WithParam("model_lib");
  }
  MLC_RETURN_IF_ERROR(started);
  MLC_RETURN_IF_ERROR(library->ReadMetadata());
  library->id_ = HexText(Fnv1a(library->metadata_json_));
  return library;
}

Status ModelLibrary::ReadMetadata() {
  MLC_ASSIGN_OR_RETURN(metadata_json_, impl_->Text("_metadata"));
  return Status();
}

bool ModelLibrary::Has(const std::string& function) const {
  return impl_->Find(function) != nullptr;
}

Result<Tensor> ModelLibrary::Call(const std::string& function,
                                  const std::vector<Argument>& arguments) {
  ffi::Any value;
  MLC_RETURN_IF_ERROR(impl_->Call(function, arguments, &value));
  std::optional<ffi::Tensor> tensor = value.try_cast<ffi::Tensor>();
  if (!tensor) return Internal(impl_->path + ": '" + function + "' did not return a tensor");
  return FromTvm(*std::move(tensor));
}

Status ModelLibrary::CallVoid(const std::string& function, const std::vector<Argument>& arguments) {
  ffi::Any value;
  return impl_->Call(function, arguments, &value);
}

}  // namespace mlc
