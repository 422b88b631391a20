#include "runtime/library_names.h"

#include <algorithm>

namespace mlc {
namespace {

#if defined(__APPLE__)
constexpr const char* kSuffixes[] = {".dylib", ".so"};
#elif defined(_WIN32)
constexpr const char* kSuffixes[] = {".dll"};
#else
constexpr const char* kSuffixes[] = {".so"};
#endif

std::string CName(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_plain) c = '_';
  }
  return out;
}

void AddNew(std::string text, std::vector<std::string>* list) {
  if (std::find(list->begin(), list->end(), text) == list->end()) list->push_back(std::move(text));
}

}  // namespace

std::vector<std::string> LinkedPrefixes(std::string_view name) {
  std::vector<std::string> prefixes;
  for (const std::string& spelling : {std::string(name), CName(name)}) {
    AddNew(spelling, &prefixes);
    AddNew(spelling + "_", &prefixes);
  }
  return prefixes;
}

std::vector<std::string> LibraryFileNames(std::string_view name) {
  std::vector<std::string> names;
  for (const std::string& spelling : {std::string(name), CName(name)}) {
    for (const char* suffix : kSuffixes) {
      AddNew("lib" + spelling + suffix, &names);
      AddNew(spelling + suffix, &names);
    }
  }
  return names;
}

std::vector<std::string> BackendNames(const std::string& folder,
                                      const std::vector<std::string>& libraries,
                                      std::string_view backend) {
  std::string file = "libmlc_llm_" + std::string(backend) + kSuffixes[0];
  std::vector<std::string> names;
  // "/data/app/com.example/base.apk!/lib/arm64-v8a": not a folder
  bool is_in_apk = folder.find("!/") != std::string::npos;
  if (!folder.empty() && !is_in_apk) names.push_back(folder + "/" + file);
  for (const std::string& other : libraries) names.push_back(other + "/" + file);
  if (folder.empty() || is_in_apk) names.push_back(file);
  return names;
}

}  // namespace mlc
