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

// "/app/lib/libllama.so" -> "llama"
std::string_view NameOfFile(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of("/\\") + 1);
  name = name.substr(0, name.rfind('.'));
  if (name.substr(0, 3) == "lib") name.remove_prefix(3);
  return name;
}

bool IsOfCName(unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }

// Whether the name is in the file, and not only as the end of a longer one.
bool HasName(std::string_view file, const std::string& name) {
  size_t at = file.find(name);
  while (at != std::string_view::npos && at > 0 && IsOfCName(file[at - 1])) {
    at = file.find(name, at + 1);
  }
  return at != std::string_view::npos;
}

// "llama_aarch64_i8mm" -> "llama", on an ARM CPU
std::string_view WithoutVariant(std::string_view name) {
  for (const CpuVariant& variant : CpuVariants()) {
    std::string_view suffix = variant.suffix;
    if (name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return name;
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

std::string LinkedNameIn(std::string_view file, std::string_view path) {
  // Before the symbol of a library without a prefix stands the end of another name, or its length
  // (WebAssembly).
  size_t end = file.find(kLibrarySymbol);
  if (end == std::string_view::npos) return "";
  size_t begin = end;
  while (begin > 0 && IsOfCName(file[begin - 1])) --begin;
  std::string_view prefix = file.substr(begin, end - begin);
  if (prefix.empty() || prefix == "_") return "";  // all names begin with "_" on Apple's systems
  std::string own(NameOfFile(path));
  for (const std::string& known : LinkedPrefixes(own)) {
    if (!own.empty() && HasName(file, known + std::string(kLibrarySymbol))) return own;
  }
#if defined(__APPLE__)
  if (prefix.front() == '_') prefix.remove_prefix(1);
#endif
  if (prefix.back() == '_') prefix.remove_suffix(1);
  return std::string(WithoutVariant(prefix));
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
