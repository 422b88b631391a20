#include "runtime/byte_source.h"

#include <algorithm>

#include "platform/file.h"

namespace mlc {

Result<Bytes> ByteSource::OpenPart(std::string_view name, int64_t offset, int64_t size) const {
  MLC_ASSIGN_OR_RETURN(Bytes bytes, Open(name));
  int64_t begin = std::min(offset, bytes.size);
  bytes.data += begin;
  bytes.size = std::min(size, bytes.size - begin);
  return bytes;
}

Result<Bytes> FolderSource::Open(std::string_view name) const {
  MLC_ASSIGN_OR_RETURN(std::string path, JoinInside(folder_, name));
  MLC_ASSIGN_OR_RETURN(std::shared_ptr<MappedFile> file, MappedFile::Open(path));
  return Bytes{file->data(), file->size(), file, file};
}

#if defined(__EMSCRIPTEN__)
Result<Bytes> FolderSource::OpenPart(std::string_view name, int64_t offset, int64_t size) const {
  MLC_ASSIGN_OR_RETURN(std::string path, JoinInside(folder_, name));
  MLC_ASSIGN_OR_RETURN(std::shared_ptr<MappedFile> file, MappedFile::OpenPart(path, offset, size));
  return Bytes{file->data(), file->size(), file, file};
}
#endif

bool FolderSource::Has(std::string_view name) const {
  Result<std::string> path = JoinInside(folder_, name);
  return path.ok() && FileExists(*path);
}

std::string FolderSource::Describe(std::string_view name) const {
  return folder_ + "/" + std::string(name);
}

}  // namespace mlc
