#include "runtime/library_names.h"

#include <algorithm>
#include <cctype>

#include "platform/cpu_features.h"

namespace mlc {
namespace {

// A library for one generation of this machine's CPUs: what its name ends in, and the features that
// its kernels need (`mlc_llm compile --device aarch64-dotprod`, compiler/targets.py).
struct CpuVariant {
  const char* suffix;
  std::vector<std::string> features;
};

// The fastest one first.
const std::vector<CpuVariant>& CpuVariants() {
  static const auto* variants = new std::vector<CpuVariant>{
#if defined(__aarch64__)
      {"_aarch64_i8mm", {"dotprod", "i8mm"}},
      {"_aarch64_dotprod", {"dotprod"}},
      {"_aarch64", {}},
#elif defined(__x86_64__)
      {"_x86_64_v4",
       {"ssse3", "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "bmi", "bmi2", "f16c", "fma",
        "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
      {"_x86_64_v3",
       {"ssse3", "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "bmi", "bmi2", "f16c", "fma"}},
      {"_x86_64_v2", {"ssse3", "sse4.1", "sse4.2", "popcnt"}},
#endif
  };
  return *variants;
}

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

std::vector<std::string> CpuVariantNames(std::string_view name) {
  std::vector<std::string> names;
  for (const CpuVariant& variant : CpuVariants()) {
    if (MissingCpuFeatures(variant.features).empty()) {
      names.push_back(std::string(name) + variant.suffix);
    }
  }
  return names;
}

std::string NameOfFile(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of("/\\") + 1);
  name = name.substr(0, name.rfind('.'));
  if (name.substr(0, 3) == "lib") name.remove_prefix(3);
  return std::string(name);
}

bool HoldsLinked(std::string_view file) {
  size_t at = file.find(kLibrarySymbol);
  if (at == std::string_view::npos || at == 0) return false;
  std::string_view before = file.substr(0, at);
  if (before.back() == '_') before.remove_suffix(1);  // of every name of C, on Apple's systems
  // Before a name without a prefix stands its length (WebAssembly) or the end of another one.
  auto is_of_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !before.empty() && is_of_name(before.back());
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
