#include "platform/folders.h"

#include <filesystem>
#include <mutex>
#include <utility>

#include "platform/host.h"
#include "platform/paths.h"

namespace mlc {
namespace {

// Never destroyed: threads of drivers may still run when the program ends.
std::mutex& Mutex() {
  static std::mutex* mutex = new std::mutex();
  return *mutex;
}

Folders& Stored() {
  static Folders* folders = new Folders();
  return *folders;
}

#if defined(_WIN32)
constexpr const char* kHome = "USERPROFILE";
#else
constexpr const char* kHome = "HOME";
#endif

}  // namespace

void SetFolders(Folders folders) {
  std::lock_guard<std::mutex> lock(Mutex());
  Stored() = std::move(folders);
}

Folders CurrentFolders() {
  std::lock_guard<std::mutex> lock(Mutex());
  return Stored();
}

std::string CacheFolder() {
  if (std::string given = CurrentFolders().cache; !given.empty()) return given;
  if (std::string home = EnvironmentText("MLC_LLM_HOME"); !home.empty()) return home;
  if (std::string cache = EnvironmentText("XDG_CACHE_HOME"); !cache.empty()) {
    return cache + "/mlc_llm";
  }
  std::string user = EnvironmentText(kHome);
  return user.empty() ? "" : user + "/.cache/mlc_llm";
}

std::string TemporaryFolder() {
  Folders given = CurrentFolders();
  if (!given.temporary.empty()) return given.temporary;
  if (!given.cache.empty()) return given.cache;
  std::error_code failed;
  std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
  if (failed) return "";
  std::string path = TextOf(folder);
  if (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace mlc
