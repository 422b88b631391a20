#include "chat/load/library_path.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <vector>

#include "platform/file.h"
#include "platform/paths.h"

namespace mlc {
namespace {

namespace fs = std::filesystem;

// A name such as "llama-3.1_q4f16_1", and not a path.
bool IsBareName(const std::string& named) {
  constexpr const char* kFiles[] = {".so", ".dylib", ".dll", ".tar", ".a"};
  if (named.empty() || named.find_first_of("/\\:") != std::string::npos) return false;
  std::string suffix = TextOf(PathOf(named).extension());
  bool is_file = std::find(std::begin(kFiles), std::end(kFiles), suffix) != std::end(kFiles);
  return !is_file && named.front() != '.';
}

bool IsLibrary(const fs::path& path) {
  std::error_code error;
  std::string suffix = TextOf(path.extension());
  return (suffix == ".so" || suffix == ".dylib" || suffix == ".dll") &&
         fs::is_regular_file(path, error);
}

// Sorted by name.
std::vector<std::string> LibrariesOf(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(folder / "lib", error), end; !error && it != end;
       it.increment(error)) {
    if (IsLibrary(it->path())) found.push_back(TextOf(it->path()));
  }
  for (const char* name : {"lib.so", "lib.dylib", "lib.dll"}) {
    if (IsLibrary(folder / name)) found.push_back(TextOf(folder / name));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Result<std::string> LibraryPath(const std::string& folder,
                                const std::optional<std::string>& named) {
  if (named) return IsBareName(*named) && !FileExists(*named) ? "system://" + *named : *named;
  std::vector<std::string> found = LibrariesOf(PathOf(folder));
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return NotFound("no compiled library: give model_lib, or put one into " + folder +
                    "/lib (mlc_llm compile " + folder + " -o " + folder + "/lib/model.so)")
        .WithParam("model_lib");
  }
  return InvalidArgument("there are several compiled libraries, such as " + found[0] + " and " +
                         found[1] + "; say which by model_lib")
      .WithParam("model_lib");
}

}  // namespace mlc
