#include "runtime/device/webgpu/webgpu_api.h"

#include <cstdlib>

#include "platform/shared_library.h"

namespace mlc::webgpu {
namespace {

// The first name is the one in the Python package; this library's run path finds it.
#if defined(__APPLE__)
constexpr const char* kUsual[] = {"@rpath/libwgpu_native-release.dylib", "libwgpu_native.dylib"};
#else
constexpr const char* kUsual[] = {"libwgpu_native-release.so", "libwgpu_native.so"};
#endif

void* OpenDriver(std::string* problem) {
  const char* named = std::getenv("MLC_WGPU_LIBRARY");
  if (named != nullptr && *named != '\0') {
    void* library = OpenLibrary(named, LibraryScope::kLocal);
    if (library == nullptr) *problem = std::string("MLC_WGPU_LIBRARY: ") + LibraryError();
    return library;
  }
  for (const char* name : kUsual) {
    if (void* library = OpenLibrary(name, LibraryScope::kLocal)) return library;
  }
  *problem = "wgpu-native was not found; install the Python package wgpu==" MLC_WGPU_PACKAGE;
  return nullptr;
}

// 0x1d000101 is 29.0.1.1; the first two numbers identify the interface.
std::string VersionText(uint32_t version) {
  return std::to_string(version >> 24) + "." + std::to_string((version >> 16) & 255);
}

Api Load() {
  Api api;
  void* library = OpenDriver(&api.problem);
  if (library == nullptr) return api;
#define MLC_WEBGPU_FIND(name)                                                  \
  api.name = reinterpret_cast<decltype(api.name)>(FindSymbol(library, #name)); \
  if (api.name == nullptr) api.problem = "wgpu-native has no function " #name;
  MLC_WEBGPU_FUNCTIONS(MLC_WEBGPU_FIND)
#undef MLC_WEBGPU_FIND
  if (!api.problem.empty()) return api;
  std::string version = VersionText(api.wgpuGetVersion());
  if (version != MLC_WGPU_VERSION) {
    api.problem = "wgpu-native is of version " + version + ", and this was built for " +
                  MLC_WGPU_VERSION + " (Python package wgpu==" MLC_WGPU_PACKAGE ")";
  }
  return api;
}

}  // namespace

const Api& api() {
  static const Api* loaded = new Api(Load());  // never unloaded: it has running threads
  return *loaded;
}

}  // namespace mlc::webgpu
