#include "runtime/byte_source.h"

#include "platform/file.h"

namespace mlc {

Result<Bytes> FolderSource::Open(std::string_view name) const {
  MLC_ASSIGN_OR_RETURN(std::string path, JoinInside(folder_, name));
  MLC_ASSIGN_OR_RETURN(std::shared_ptr<MappedFile> file, MappedFile::Open(path));
  return Bytes{file->data(), file->size(), file, file};
}

bool FolderSource::Has(std::string_view name) const {
  Result<std::string> path = JoinInside(folder_, name);
  return path.ok() && FileExists(*path);
}

std::string FolderSource::Describe(std::string_view name) const {
  return folder_ + "/" + std::string(name);
}

}  // namespace mlc
