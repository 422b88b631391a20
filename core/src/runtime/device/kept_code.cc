#include "runtime/device/kept_code.h"

#include <cstdlib>
#include <filesystem>

#include "base/hash.h"
#include "platform/file.h"
#include "platform/folders.h"

namespace mlc {
namespace {

// A file is: this magic, the hash of the rest in 16 digits, a newline, the code.
constexpr std::string_view kMagic = "MLCCLB01";
constexpr size_t kHeader = 8 + 16 + 1;

}  // namespace

KeptCode::KeptCode(const char* backend, const std::string& key) {
  const char* set = std::getenv("MLC_JIT_POLICY");
  policy_ = set == nullptr ? "" : set;
  std::string folder = CacheFolder();
  if (policy_ == "OFF" || folder.empty()) return;
  path_ = folder + "/" + backend + "/" + HexText(Fnv1a(key)) + HexText(HashWords(key)) + ".bin";
}

std::string KeptCode::Read() const {
  if (path_.empty() || policy_ == "REDO") return "";
  Result<std::string> file = ReadFile(path_);
  if (!file.ok()) return "";
  std::string_view bytes = *file;
  if (bytes.size() <= kHeader || bytes.substr(0, 8) != kMagic) return "";
  std::string_view code = bytes.substr(kHeader);
  return bytes.substr(8, 16) == HexText(HashWords(code)) ? std::string(code) : "";
}

void KeptCode::Write(std::string_view code) const {
  if (path_.empty() || policy_ == "READONLY") return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  (void)ReplaceFile(path_, {kMagic, HexText(HashWords(code)), "\n", code});
}

}  // namespace mlc
