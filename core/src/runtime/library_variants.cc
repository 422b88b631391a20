#include "runtime/library_variants.h"

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "platform/cpu_features.h"
#include "platform/file.h"
#include "platform/folders.h"

namespace mlc {
namespace {

constexpr std::string_view kVariantsMagic = "MLCFAT01";
constexpr size_t kIndexHeaderBytes = 16;

struct Variant {
  std::string device;
  std::vector<std::string> missing;  // features that this CPU lacks
  std::string_view bytes;
};

Result<Variant> ReadVariant(const Json& json, std::string_view file) {
  Variant variant;
  MLC_ASSIGN_OR_RETURN(variant.device, GetString(json, "device"));
  MLC_ASSIGN_OR_RETURN(int64_t offset, GetInt(json, "offset"));
  MLC_ASSIGN_OR_RETURN(int64_t size, GetInt(json, "size"));
  int64_t file_size = static_cast<int64_t>(file.size());
  if (offset < 0 || size <= 0 || offset > file_size || size > file_size - offset) {
    return InvalidArgument("variant '" + variant.device + "' lies outside the file");
  }
  variant.bytes = file.substr(static_cast<size_t>(offset), static_cast<size_t>(size));
  const Json* features = json.Find("cpu_features");
  if (features == nullptr || !features->is_array()) {
    return InvalidArgument("field 'cpu_features' must be a list");
  }
  std::vector<std::string> required;
  for (const Json& feature : features->as_array()) {
    if (feature.is_string()) required.push_back(feature.as_string());
  }
  variant.missing = MissingCpuFeatures(required);
  return variant;
}

Result<std::vector<Variant>> ReadIndex(std::string_view file) {
  uint64_t length = 0;
  for (size_t i = kIndexHeaderBytes; i > kVariantsMagic.size() && i <= file.size(); --i) {
    length = length << 8 | static_cast<unsigned char>(file[i - 1]);
  }
  if (file.size() < kIndexHeaderBytes || length > file.size() - kIndexHeaderBytes) {
    return InvalidArgument("its index lies outside the file");
  }
  MLC_ASSIGN_OR_RETURN(Json index, Json::Parse(file.substr(kIndexHeaderBytes, length)));
  const Json* listed = index.Find("variants");
  if (listed == nullptr || !listed->is_array() || listed->as_array().empty()) {
    return InvalidArgument("field 'variants' must be a list that is not empty");
  }
  std::vector<Variant> variants;
  for (const Json& json : listed->as_array()) {
    MLC_ASSIGN_OR_RETURN(Variant variant, ReadVariant(json, file));
    variants.push_back(std::move(variant));
  }
  return variants;
}

// An app must say where it may write.
Status NoPlace(const Status& failed) {
  return ResourceExhausted(failed.message() +
                           "; the model library needs a folder for a temporary file: set one "
                           "(mlc_set_directories, setDirectories), or TMPDIR")
      .WithParam("temporary");
}

}  // namespace

bool HasVariants(std::string_view file) {
  return file.substr(0, kVariantsMagic.size()) == kVariantsMagic;
}

Result<std::string_view> VariantForThisCpu(std::string_view file, const std::string& path) {
  Result<std::vector<Variant>> variants = ReadIndex(file);
  if (!variants.ok()) {
    return Corrupt(path + ": " + variants.status().message() + "; compile the model again")
        .WithParam("model_lib");
  }
  for (const Variant& variant : *variants) {
    if (variant.missing.empty()) return variant.bytes;
  }
  const Variant& last = variants->back();
  return Unsupported(path + ": this CPU can run none of the library's variants; '" + last.device +
                     "' needs " + last.missing.front() +
                     "; compile the model for this machine (mlc_llm compile --device cpu)")
      .WithParam("model_lib");
}

Result<std::unique_ptr<TemporaryLibrary>> TemporaryLibrary::Write(std::string_view bytes) {
  std::string folder = TemporaryFolder();
  std::string begin = (folder.empty() ? "." : folder) + "/mlc-model-";
  Result<std::string> path = WriteNewFile(begin, bytes, ".so");
  if (path.ok()) return std::unique_ptr<TemporaryLibrary>(new TemporaryLibrary(*path));
  bool has_place = path.status().code() == StatusCode::kResourceExhausted;
  return has_place ? path.status() : NoPlace(path.status());
}

TemporaryLibrary::~TemporaryLibrary() { RemoveFile(path_); }

}  // namespace mlc
