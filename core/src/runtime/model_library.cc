#include "runtime/model_library.h"

#include <cstring>
#include <functional>
#include <map>
#include <mutex>

#include "base/hash.h"
#include "platform/file.h"
#include "platform/folders.h"
#include "platform/shared_library.h"
#include "runtime/library_imports.h"
#include "runtime/library_names.h"
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

// Whether the loader's reason is that there is no such file: the words of glibc and Apple, then of
// Android, whose message about a symbol is like the one about a file.
bool IsAbsence(const std::string& reason) {
  for (const char* words : {"No such file", "no such file", "image not found"}) {
    if (reason.find(words) != std::string::npos) return true;
  }
  return reason.find("not found") != reason.npos && reason.find("symbol") == reason.npos;
}

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

// The loader's handle of an open file, the same one whatever its path. Null if it is not open.
void* HandleOf(const std::string& file) {
  void* open = OpenIfLoaded(file.c_str());
  if (open != nullptr) CloseLibrary(open);
  return open;
}

struct OpenFile {
  ffi::WeakObjectPtr<ffi::ModuleObj> module;
  std::string id;  // LibraryId of what it held when it was opened; "": not known
};

// By their handles. Used while Opening is taken.
std::map<void*, OpenFile>& OpenFiles() {
  static auto* files = new std::map<void*, OpenFile>();
  return *files;
}

// The code around a GPU's kernels keeps them in static variables, which all loads of one file
// share. A second engine would run the first engine's kernels, and run them after they are freed.
// So an open GPU file is loaded from a copy, as is one that was replaced: the loader has the old.
Result<std::unique_ptr<TemporaryLibrary>> CopyIfLoaded(std::string_view bytes,
                                                       const std::string& path,
                                                       const std::string& id, Device device) {
  void* loaded = HandleOf(path);
  if (loaded == nullptr) return std::unique_ptr<TemporaryLibrary>();
  const std::string& known = OpenFiles()[loaded].id;
  bool is_it = known.empty() || known == id;
  if (device.kind() == "cpu" && is_it) return std::unique_ptr<TemporaryLibrary>();
  return TemporaryLibrary::Write(bytes);
}

// Taken while a file is opened.
std::recursive_mutex& Opening() {
  static auto* mutex = new std::recursive_mutex();
  return *mutex;
}

// The module of a file. All modules of one open file share the variables of its code, and TVM keeps
// in one of them which module finds the functions that the code calls by name. If that module went
// before another one, code would use freed memory. So an open file has one module while it is used.
ffi::Module ModuleOfFile(const std::string& file) {
  std::lock_guard<std::recursive_mutex> lock(Opening());
  if (auto module = OpenFiles()[HandleOf(file)].module.lock()) return ffi::Module(module);
  BoundLibrary bound(file);
  ffi::Module module = ffi::Module::LoadFromFile(file);
  OpenFile now{ffi::GetObjectPtr<ffi::ModuleObj>(module.get()), ""};
  if (void* open = HandleOf(file)) OpenFiles()[open] = std::move(now);
  return module;
}

// Libraries register themselves when they are opened, in a table of TVM that has no lock, and a
// second file of the same names would overwrite the first one's kernels. So one at a time is opened
// or looked for, and each name belongs to one file for as long as the process lives.
struct LinkedFiles {
  std::recursive_mutex mutex;
  std::map<std::string, std::string> opened;  // the id of each name's file
};

LinkedFiles& Linked() {
  static auto* files = new LinkedFiles();
  return *files;
}

// The module of the linked library with that prefix. Nothing if there is none, and then also later
// (TVM keeps the answer), so libraries are opened before. An error: this process cannot open it.
Result<ffi::Optional<ffi::Module>> ModuleOf(const ffi::Function& find, const std::string& prefix) {
  ffi::Optional<ffi::Module> found;
  MLC_RETURN_IF_ERROR(CatchTvm(prefix, [&] {
    ffi::Module module = find(ffi::String(prefix)).cast<ffi::Module>();
    if (module->GetFunction("vm_load_executable", true).has_value()) found = module;
  }));
  return found;
}

// The library that is linked into the program under one of the prefixes that `name` may mean, for
// this device. Nothing if there is none.
Result<ffi::Optional<ffi::Module>> FindLinked(const std::string& name, Device device) {
  std::optional<ffi::Function> find = ffi::Function::GetGlobal("ffi.SystemLib");
  if (!find || name.empty()) return ffi::Optional<ffi::Module>();
  Status refused;
  std::vector<std::string> names;
  if (device.kind() == "cpu") names = CpuVariantNames(name);
  names.push_back(name);
  for (const std::string& one : names) {
    for (const std::string& prefix : LinkedPrefixes(one)) {
      Result<ffi::Optional<ffi::Module>> module = ModuleOf(*find, prefix);
      if (module.ok() && module->has_value()) return module;
      if (refused.ok() && !module.ok()) refused = module.status();
    }
  }
  if (!refused.ok()) return refused;
  return ffi::Optional<ffi::Module>();
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

const std::string& ModelLibrary::path() const { return impl_->path; }

Result<std::unique_ptr<ModelLibrary>> ModelLibrary::Load(const std::string& path, Device device) {
  if (path.rfind(kSystemScheme, 0) == 0) return LoadLinked(path, device);
  // The system's loader would search for a bare name.
  return LoadFile((path.find_first_of("/\\") == path.npos ? "./" : "") + path, device);
}

Result<std::unique_ptr<ModelLibrary>> ModelLibrary::LoadFile(const std::string& path,
                                                             Device device) {
  MLC_ASSIGN_OR_RETURN(std::shared_ptr<MappedFile> file, MappedFile::Open(path));
  std::string_view bytes(reinterpret_cast<const char*>(file->data()),
                         static_cast<size_t>(file->size()));
  MLC_RETURN_IF_ERROR(CheckLibraryTrailer(bytes, path));
  if (std::string name = LinkedNameIn(bytes, path); !name.empty()) {
    return OpenLinked(path, name, LibraryId(bytes), device);
  }
  const std::string id = LibraryId(bytes);
  std::unique_ptr<TemporaryLibrary> variant;
  if (HasVariants(bytes)) {
    MLC_ASSIGN_OR_RETURN(std::string_view chosen, VariantForThisCpu(bytes, path));
    MLC_ASSIGN_OR_RETURN(variant, TemporaryLibrary::Write(chosen));
  }
  std::unique_lock<std::recursive_mutex> lock(Opening());
  if (!variant) {
    MLC_ASSIGN_OR_RETURN(variant, CopyIfLoaded(bytes, path, id, device));
  }
  const std::string opened = variant ? variant->path() : path;
  MLC_ASSIGN_OR_RETURN(std::unique_ptr<ModelLibrary> library, Open(path, opened, device, [&] {
                         if (void* open = HandleOf(opened)) OpenFiles()[open].id = id;
                         lock.unlock();
                       }));
  library->id_ = id;
  return library;
}

Result<std::unique_ptr<ModelLibrary>> ModelLibrary::Open(const std::string& path,
                                                         const std::string& file, Device device,
                                                         const std::function<void()>& on_open) {
  std::unique_ptr<ModelLibrary> library(new ModelLibrary(std::make_unique<Impl>()));
  library->impl_->path = path;
  MLC_RETURN_IF_ERROR(library->impl_->Start(device, [&] {
    ffi::Module module = ModuleOfFile(file);
    if (on_open) on_open();
    return module;
  }));
  MLC_RETURN_IF_ERROR(ShareLoopsOf(file));
  MLC_RETURN_IF_ERROR(library->ReadMetadata());
  library->id_ = HexText(Fnv1a(library->metadata_json_));
  return library;
}

Result<std::unique_ptr<ModelLibrary>> ModelLibrary::LoadLinked(const std::string& path,
                                                               Device device) {
  std::string name = path.substr(std::strlen(kSystemScheme));
  if (name.empty()) return FromLinked(path, name, device);
  std::lock_guard<std::recursive_mutex> lock(Linked().mutex);
  std::vector<std::string> files = LibraryFileNames(name);
  for (const std::string& folder : CurrentFolders().libraries) {
    for (const std::string& file : files) {
      std::string bundled = folder + "/" + file;
      if (FileExists(bundled)) return LoadBundled(path, bundled, device);
    }
  }
  // Inside an APK a library has no path. The app's signature covers it, so there is no other check.
  std::string broken;
  for (const std::string& file : files) {
    std::string reason;
    void* library = OpenWithTvm(file, &reason);
    if (library == nullptr) {
      if (!IsAbsence(reason)) broken = reason;
      continue;
    }
    bool is_plain = FindSymbol(library, kLibrarySymbol.data()) != nullptr;
    if (!is_plain) return FromLinked(path, name, device);
    Result<std::unique_ptr<ModelLibrary>> made = Open(path, file, device);
    CloseLibrary(library);  // the module holds it
    return made;
  }
  Result<std::unique_ptr<ModelLibrary>> linked = FromLinked(path, name, device);
  if (broken.empty() || linked.status().code() != StatusCode::kNotFound) return linked;
  return Corrupt(path + ": " + broken).WithParam("model_lib");
}

// An app may have linked the archive of its models into a library of its own, which has no seal.
Result<std::unique_ptr<ModelLibrary>> ModelLibrary::LoadBundled(const std::string& path,
                                                                const std::string& file,
                                                                Device device) {
  Result<std::unique_ptr<ModelLibrary>> library = LoadFile(file, device);
  if (library.ok() || !library.status().Is(Reason::kModelLibraryNotSealed)) return library;
  std::string reason;
  if (OpenWithTvm(file, &reason) == nullptr) {
    return Corrupt(path + ": " + reason).WithParam("model_lib");
  }
  Result<std::unique_ptr<ModelLibrary>> linked =
      FromLinked(path, path.substr(std::strlen(kSystemScheme)), device);
  return linked.ok() ? std::move(linked) : std::move(library);
}

Result<std::unique_ptr<ModelLibrary>> ModelLibrary::FromLinked(const std::string& path,
                                                               const std::string& name,
                                                               Device device) {
  std::lock_guard<std::recursive_mutex> lock(Linked().mutex);
  Result<ffi::Optional<ffi::Module>> module = FindLinked(name, device);
  if (!module.ok()) return ForThisDevice(module.status(), path, device);
  if (!module->has_value()) {
    std::string files = name.empty() ? "" : " (" + LibraryFileNames(name)[0] + ")";
    return NotFound(path + ": no model library with the prefix '" + name +
                    "' is linked into this program, and none" + files +
                    " is among its libraries; link the whole archive of mlc_llm compile "
                    "--system-lib-prefix " +
                    name + ", or name the folder of the library in setDirectories")
        .WithParam("model_lib");
  }
  std::unique_ptr<ModelLibrary> library(new ModelLibrary(std::make_unique<Impl>()));
  library->impl_->path = path;
  MLC_RETURN_IF_ERROR(library->impl_->Start(device, [&] { return module->value(); }));
  MLC_RETURN_IF_ERROR(library->ReadMetadata());
  library->id_ = HexText(Fnv1a(library->metadata_json_));
  return library;
}

// A shared library that has linked libraries in it registers them when it is opened. It stays open.
Result<std::unique_ptr<ModelLibrary>> ModelLibrary::OpenLinked(const std::string& file,
                                                               const std::string& name,
                                                               const std::string& id,
                                                               Device device) {
  std::lock_guard<std::recursive_mutex> lock(Linked().mutex);
  std::map<std::string, std::string>& files = Linked().opened;
  const std::string prefix = LinkedPrefixes(name).back();  // whatever the spelling
  auto opened = files.find(prefix);
  if (opened != files.end() && opened->second != id) {
    return Unsupported(
               file + ": another file with the library '" + name +
               "' was opened, and a process keeps it; give this one another name (model_lib "
               "of mlc_llm package), or start the process again")
        .WithParam("model_lib");
  }
  if (opened == files.end()) {  // a copy would register its own kernels
    std::string reason;
    if (OpenWithTvm(file, &reason) == nullptr) {
      return Corrupt(file + ": " + reason).WithParam("model_lib");
    }
    files.emplace(prefix, id);
  }
  Result<std::unique_ptr<ModelLibrary>> library = FromLinked(file, name, device);
  if (library.status().code() == StatusCode::kNotFound) {
    return Unavailable(file + ": the library '" + name +
                       "' was asked for before this file was opened, and the process keeps that "
                       "answer; set the folders before the first load, and start the process again")
        .WithParam("model_lib");
  }
  // Its parts keep pages of different types: each has an id.
  if (library.ok()) (*library)->id_ = HexText(Fnv1a(id + (*library)->metadata_json_));
  return library;
}

Result<std::unique_ptr<ModelLibrary>> ModelLibrary::WithOwnMachine(Device device) const {
  std::unique_ptr<ModelLibrary> library(new ModelLibrary(std::make_unique<Impl>()));
  library->impl_->path = impl_->path;
  MLC_RETURN_IF_ERROR(library->impl_->Start(device, [&] { return impl_->executable.value(); }));
  library->metadata_json_ = metadata_json_;
  library->id_ = id_;
  return library;
}

Status ModelLibrary::ReadMetadata() {
  MLC_ASSIGN_OR_RETURN(metadata_json_, impl_->Text("_metadata"));
  return Status();
}

bool ModelLibrary::Has(const std::string& function) const {
  return impl_->Find(function) != nullptr;
}

Result<std::vector<Tensor>> ModelLibrary::Call(const std::string& function,
                                               const std::vector<Argument>& arguments,
                                               size_t num_results) {
  ffi::Any value;
  MLC_RETURN_IF_ERROR(impl_->Call(function, arguments, &value));
  std::optional<ffi::Array<ffi::Tensor>> made = value.try_cast<ffi::Array<ffi::Tensor>>();
  if (!made || made->size() != num_results) {
    return Internal(impl_->path + ": '" + function + "' did not return " +
                    std::to_string(num_results) + " tensors");
  }
  std::vector<Tensor> tensors;
  for (const ffi::Tensor& tensor : *made) {
    MLC_ASSIGN_OR_RETURN(Tensor converted, FromTvm(tensor));
    tensors.push_back(std::move(converted));
  }
  return tensors;
}

}  // namespace mlc
