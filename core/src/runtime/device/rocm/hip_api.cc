#include "runtime/device/rocm/hip_api.h"

#include <tvm/ffi/error.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "platform/shared_library.h"
#include "runtime/rocm_files.h"

namespace mlc::rocm {
namespace {

static_assert(offsetof(DeviceProperties, memory) == 288);
static_assert(offsetof(DeviceProperties, group_memory) == 296);
static_assert(offsetof(DeviceProperties, group_size) == 320);
static_assert(offsetof(DeviceProperties, is_integrated) == 396);
static_assert(offsetof(DeviceProperties, architecture) == 1160);

template <typename Function>
void Find(void* library, const char* name, Function* function, std::string* problem) {
  *function = reinterpret_cast<Function>(FindSymbol(library, name));
  if (*function == nullptr) *problem = std::string("ROCm 6 or later is needed: no ") + name;
}

void Open(Api* api) {
  const char* named = std::getenv("MLC_HIP_LIBRARY");
  bool is_named = named != nullptr && *named != '\0';
  std::vector<std::string> files = {named != nullptr ? named : ""};
  if (!is_named) files = RocmFiles({"libamdhip64.so.7", "libamdhip64.so.6"});
  OpenedFile opened = OpenFirst(files);
  api->library = opened.library;
  api->file = opened.file;
  if (api->library != nullptr) return;
  std::string reason = opened.problem;
  if (reason.empty()) {
    reason = is_named ? opened.file + ": no such file" : "libamdhip64.so.7 or .6 was not found";
  }
  api->problem = is_named ? "MLC_HIP_LIBRARY: " + reason
                          : "this machine has no AMD ROCm that can be opened (" + reason + ")";
}

Api Load() {
  Api api;
  Open(&api);
  if (api.library == nullptr) return api;
#define MLC_HIP_FIND(name, ...) Find(api.library, #name, &api.name, &api.problem);
  MLC_HIP_FUNCTIONS(MLC_HIP_FIND)
  MLC_HIP_FIND(hipGetErrorString)
#undef MLC_HIP_FIND
  return api;
}

// Both have one version.
Compiler LoadCompiler() {
  Compiler compiler;
  std::string file = api().file;
  constexpr std::string_view kRuntime = "amdhip64";
  size_t at = file.rfind(kRuntime);
  if (at != std::string::npos) file.replace(at, kRuntime.size(), "hiprtc");
  void* library = OpenLibrary(file.c_str(), LibraryScope::kLocal);
  if (library == nullptr) {
    compiler.problem = "ROCm's compiler is not installed (" + LibraryError() + ")";
    return compiler;
  }
#define MLC_HIPRTC_FIND(name, ...) Find(library, #name, &compiler.name, &compiler.problem);
  MLC_HIPRTC_FUNCTIONS(MLC_HIPRTC_FIND)
#undef MLC_HIPRTC_FIND
  return compiler;
}

}  // namespace

const Api& api() {
  static const Api* loaded = new Api(Load());  // never unloaded: drivers have running threads
  return *loaded;
}

const Compiler& compiler() {
  static const Compiler* loaded = new Compiler(LoadCompiler());
  return *loaded;
}

void Check(int code, const char* what) {
  if (code == kSuccess) return;
  (void)api().hipGetLastError();  // else another user of HIP takes it for its own
  std::string text = std::string(what) + ": " + api().hipGetErrorString(code);
  if (code == kOutOfMemory) TVM_FFI_THROW(MemoryError) << text;
  TVM_FFI_THROW(RuntimeError) << text;
}

}  // namespace mlc::rocm
