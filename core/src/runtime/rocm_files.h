// Where AMD's libraries may be: in the folder that ROCM_PATH names, where the system's loader
// looks (it also finds those of AMD's wheels that are open already), and where AMD's packages put
// them.
//
//   OpenedFile hip = OpenFirst(RocmFiles({"libamdhip64.so.7", "libamdhip64.so.6"}));
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "platform/shared_library.h"

namespace mlc {

// `names`: of one library, the best version first. A place is asked for all of them before the
// next.
[[maybe_unused]] static std::vector<std::string> RocmFiles(const std::vector<std::string>& names) {
  std::vector<std::string> places = {"", "/opt/rocm/lib/"}, files;
  const char* root = std::getenv("ROCM_PATH");
  if (root != nullptr && *root != '\0') {
    places.insert(places.begin(), std::string(root) + "/lib/");
  }
  for (const std::string& place : places) {
    for (const std::string& name : names) files.push_back(place + name);
  }
  return files;
}

struct OpenedFile {
  void* library = nullptr;
  std::string file;
  std::string problem;  // why one that is there cannot be opened; "": none is there
};

// Opens the first of the files that can be opened.
[[maybe_unused]] static OpenedFile OpenFirst(const std::vector<std::string>& files) {
  OpenedFile opened;
  for (const std::string& file : files) {
    opened.library = OpenLibrary(file.c_str(), LibraryScope::kLocal);
    opened.file = file;
    if (opened.library != nullptr) return opened;
    std::string reason = LibraryError();
    bool is_missing = reason.rfind(file + ": cannot open shared object file: No such file", 0) == 0;
    if (!is_missing && opened.problem.empty()) opened.problem = reason.substr(0, reason.find('\n'));
  }
  return opened;
}

}  // namespace mlc
