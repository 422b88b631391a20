// platform/file.h over the files that the page mounts (bindings/web/runtime/files.ts).
#include "platform/file.h"

#include <algorithm>
#include <cstdlib>

#include "platform/web/page.h"

namespace mlc {
namespace {

constexpr int32_t kDone = 0, kMustWait = 1;
constexpr size_t kAlignment = 64;  // as runtime/weights.cc wants it

Status NoSuchFile(const std::string& path) {
  return NotFound(path + ": no such file").WithReason(Reason::kFileNotFound);
}

Status ReadPart(const std::string& path, int64_t offset, void* to, int64_t bytes) {
  double begin = static_cast<double>(offset);
  uint32_t size = static_cast<uint32_t>(bytes);
  int32_t result = mlc_page_file_read(path.c_str(), begin, to, size);
  if (result == kMustWait) result = mlc_page_file_read_later(path.c_str(), begin, to, size);
  if (result == kMustWait) {
    return Unsupported(path +
                       ": is not in memory, and this browser cannot wait for it; give its "
                       "bytes to the page, or use a browser with JSPI (Chrome 137 or later)");
  }
  return result == kDone ? Status() : NotFound(path + ": cannot be read");
}

Result<int64_t> SizeOf(const std::string& path) {
  double size = mlc_page_file_size(path.c_str());
  return size < 0 ? Result<int64_t>(NoSuchFile(path)) : static_cast<int64_t>(size);
}

}  // namespace

bool FileExists(const std::string& path) { return mlc_page_file_size(path.c_str()) >= 0; }

Result<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  MLC_ASSIGN_OR_RETURN(int64_t size, SizeOf(path));
  MLC_RETURN_IF_ERROR(CheckFileSize(path, size, max_bytes));
  std::string text(static_cast<size_t>(size), '\0');
  MLC_RETURN_IF_ERROR(ReadPart(path, 0, text.data(), size));
  return text;
}

Status ReplaceFile(const std::string& path, const std::vector<std::string_view>& parts) {
  for (std::string_view part : parts) {
    mlc_page_file_add(part.data(), static_cast<uint32_t>(part.size()));
  }
  mlc_page_file_keep(path.c_str());
  return Status();
}

// A model library is opened out of the memory, not out of a file (libraries.cc).
Result<std::string> WriteNewFile(const std::string& begin, std::string_view, const std::string&) {
  return InvalidArgument(begin + ": a page has no temporary files");
}

void RemoveFile(const std::string&) {}

Status MakeWritableFolder(const std::string&) { return Status(); }  // every path can be written

// There is nothing to map: the bytes are read at once.
Result<std::shared_ptr<MappedFile>> MappedFile::Open(const std::string& path) {
  return OpenPart(path, 0, INT64_MAX);
}

Result<std::shared_ptr<MappedFile>> MappedFile::OpenPart(const std::string& path, int64_t offset,
                                                         int64_t size) {
  using File = std::shared_ptr<MappedFile>;
  MLC_ASSIGN_OR_RETURN(int64_t whole, SizeOf(path));
  size = std::min(size, whole - std::min(offset, whole));
  if (size == 0) return File(new MappedFile(path, nullptr, 0));
  size_t rounded = (static_cast<size_t>(size) + kAlignment - 1) / kAlignment * kAlignment;
  void* data = std::aligned_alloc(kAlignment, rounded);
  if (data == nullptr) {
    return ResourceExhausted(path + ": no memory for " + std::to_string(size) + " bytes");
  }
  File file(new MappedFile(path, static_cast<const uint8_t*>(data), size));
  MLC_RETURN_IF_ERROR(ReadPart(path, offset, data, size));
  return file;
}

int64_t MappedFile::Drop() const { return 0; }

MappedFile::~MappedFile() { std::free(const_cast<uint8_t*>(data_)); }

}  // namespace mlc
