// platform/file.h over Windows' files.
#include "platform/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/hash.h"
#include "platform/windows/system.h"

namespace mlc {
namespace {

using windows::ErrnoOf;
using windows::FullPath;
using windows::LastErrorText;
using windows::WidePath;

// Others may read, write, rename and remove a file that is open here. To replace it they need
// Windows 10's rename (RenameOver), and one that is mapped cannot be replaced at all.
constexpr DWORD kShared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
constexpr DWORD kLargestPart = 1 << 30;  // of one read or write

// Closes the handle at the end of the scope.
struct Handle {
  HANDLE value;
  bool ok() const { return value != nullptr && value != INVALID_HANDLE_VALUE; }
  void Close() {
    if (ok()) CloseHandle(value);
    value = nullptr;
  }
  ~Handle() { Close(); }
};

Status OpenError(const std::string& path) {
  if (ErrnoOf(GetLastError()) == ENOENT) {
    return NotFound(path + ": no such file").WithReason(Reason::kFileNotFound);
  }
  return NotFound(path + ": cannot be read: " + LastErrorText());
}

// With FILE_FLAG_BACKUP_SEMANTICS a folder can be opened too; RegularFileSize then refuses it.
HANDLE OpenToRead(const std::string& path) {
  return CreateFileW(WidePath(path).c_str(), GENERIC_READ, kShared, nullptr, OPEN_EXISTING,
                     FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS, nullptr);
}

Status WriteError(const std::string& path) {
  int error = ErrnoOf(GetLastError());
  bool is_full = error == ENOSPC || error == EFBIG;
  return Status(is_full ? StatusCode::kResourceExhausted : StatusCode::kInvalidArgument,
                path + ": cannot be written: " + LastErrorText())
      .WithParam("path");
}

bool WriteAll(HANDLE file, std::string_view bytes) {
  while (!bytes.empty()) {
    DWORD part = static_cast<DWORD>(std::min<size_t>(bytes.size(), kLargestPart)), done = 0;
    if (!WriteFile(file, bytes.data(), part, &done, nullptr)) return false;
    bytes.remove_prefix(done);
  }
  return true;
}

// A device such as "NUL" is no file, under whatever folder it is named.
Result<int64_t> RegularFileSize(HANDLE file, const std::string& path) {
  BY_HANDLE_FILE_INFORMATION info;
  bool is_regular = GetFileType(file) == FILE_TYPE_DISK &&
                    GetFileInformationByHandle(file, &info) &&
                    (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
  if (!is_regular) return NotFound(path + ": is not a regular file");
  return static_cast<int64_t>(info.nFileSizeHigh) << 32 | info.nFileSizeLow;
}

// A new file whose name no other has: `begin`, some characters, `end`. `path` gets the name.
// Whoever opened it here can write it and give it another name.
HANDLE MakeNewFile(const std::string& begin, const std::string& end, std::string* path) {
  static std::atomic<uint64_t> count{0};
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    LARGE_INTEGER ticks;
    QueryPerformanceCounter(&ticks);
    std::string seed = std::to_string(GetCurrentProcessId()) + ":" + std::to_string(count++) + ":" +
                       std::to_string(ticks.QuadPart);
    *path = begin + HexText(Fnv1a(seed)) + end;
    HANDLE file = CreateFileW(WidePath(*path).c_str(), GENERIC_WRITE | DELETE, kShared, nullptr,
                              CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
    if (file != INVALID_HANDLE_VALUE || ErrnoOf(GetLastError()) != EEXIST) return file;
  }
  return INVALID_HANDLE_VALUE;
}

// Gives an open file the name `path`. If another file has it, that file goes, though it may be
// open; whoever opened it can read on. Windows 10 can, on its own file system.
bool RenameOver(HANDLE file, const std::string& path) {
  std::wstring name = FullPath(path);
  size_t bytes = name.size() * sizeof(wchar_t);
  std::vector<FILE_RENAME_INFO> space(2 + bytes / sizeof(FILE_RENAME_INFO));  // and a zero
  space[0].Flags = FILE_RENAME_FLAG_REPLACE_IF_EXISTS | FILE_RENAME_FLAG_POSIX_SEMANTICS;
  space[0].FileNameLength = static_cast<DWORD>(bytes);
  std::memcpy(space[0].FileName, name.data(), bytes);
  DWORD size = static_cast<DWORD>(space.size() * sizeof(FILE_RENAME_INFO));
  return SetFileInformationByHandle(file, FileRenameInfoEx, space.data(), size) != 0;
}

bool IsFolder(const std::string& path) {
  DWORD attributes = GetFileAttributesW(WidePath(path).c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

// Makes a folder and those around it. GetLastError has the reason why it could not.
bool MakeFolders(const std::string& path) {
  DWORD error = path.empty() ? ERROR_PATH_NOT_FOUND : ERROR_SUCCESS;
  for (size_t end = 0; end < path.size();) {
    end = std::min(path.find_first_of("/\\", end + 1), path.size());
    std::string folder = path.substr(0, end);
    bool is_there = IsFolder(folder) || CreateDirectoryW(WidePath(folder).c_str(), nullptr);
    DWORD failed = is_there ? ERROR_SUCCESS : GetLastError();
    if (failed == ERROR_ALREADY_EXISTS && IsFolder(folder)) failed = ERROR_SUCCESS;
    // The name of another computer is no folder, and those after it may be there.
    if (failed == ERROR_SUCCESS || error == ERROR_SUCCESS) error = failed;
  }
  SetLastError(error);
  return error == ERROR_SUCCESS;
}

}  // namespace

bool FileExists(const std::string& path) {
  return GetFileAttributesW(WidePath(path).c_str()) != INVALID_FILE_ATTRIBUTES;
}

Result<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  Handle file{OpenToRead(path)};
  if (!file.ok()) return OpenError(path);
  MLC_ASSIGN_OR_RETURN(int64_t size, RegularFileSize(file.value, path));
  MLC_RETURN_IF_ERROR(CheckFileSize(path, size, max_bytes));
  std::string text(static_cast<size_t>(size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    DWORD part = static_cast<DWORD>(std::min<size_t>(text.size() - done, kLargestPart)), got = 0;
    if (!::ReadFile(file.value, text.data() + done, part, &got, nullptr)) return OpenError(path);
    if (got == 0) break;
    done += got;
  }
  text.resize(done);
  return text;
}

// The folder's own rights say who can read the file: it inherits them.
Status ReplaceFile(const std::string& path, const std::vector<std::string_view>& parts) {
  std::string temporary;
  Handle file{MakeNewFile(path + ".", "", &temporary)};
  if (!file.ok()) return WriteError(path);
  Status status;
  for (std::string_view part : parts) {
    if (status.ok() && !WriteAll(file.value, part)) status = WriteError(path);
  }
  if (status.ok() && !FlushFileBuffers(file.value)) status = WriteError(path);
  bool is_renamed = status.ok() && !IsFolder(path) && RenameOver(file.value, path);
  file.Close();  // without RenameOver only a closed file can replace another one
  constexpr DWORD kMove = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
  if (status.ok() && !is_renamed &&
      !MoveFileExW(WidePath(temporary).c_str(), WidePath(path).c_str(), kMove)) {
    status = WriteError(path);
  }
  if (!status.ok()) RemoveFile(temporary);
  return status;
}

Result<std::string> WriteNewFile(const std::string& begin, std::string_view bytes,
                                 const std::string& end) {
  std::string path;
  Handle file{MakeNewFile(begin, end, &path)};
  if (!file.ok()) return InvalidArgument(path + ": " + LastErrorText());
  if (WriteAll(file.value, bytes)) return path;
  Status status = ResourceExhausted(path + ": " + LastErrorText());
  file.Close();
  RemoveFile(path);
  return status;
}

void RemoveFile(const std::string& path) { DeleteFileW(WidePath(path).c_str()); }

Status MakeWritableFolder(const std::string& path) {
  std::string name;
  Handle made{MakeFolders(path) ? MakeNewFile(path + "/.mlc-", "", &name) : nullptr};
  std::string reason = LastErrorText();
  bool can_write = made.ok();
  made.Close();
  if (can_write) {
    RemoveFile(name);
    return Status();
  }
  return InvalidArgument(path + ": no file can be written into this folder: " + reason);
}

Result<std::shared_ptr<MappedFile>> MappedFile::Open(const std::string& path) {
  Handle file{OpenToRead(path)};
  if (!file.ok()) return OpenError(path);
  MLC_ASSIGN_OR_RETURN(int64_t size, RegularFileSize(file.value, path));
  if (size == 0) return std::shared_ptr<MappedFile>(new MappedFile(path, nullptr, 0));
  // The view keeps the mapping, and the mapping keeps the file.
  Handle mapping{CreateFileMappingW(file.value, nullptr, PAGE_READONLY, 0, 0, nullptr)};
  void* data = mapping.ok() ? MapViewOfFile(mapping.value, FILE_MAP_READ, 0, 0, 0) : nullptr;
  if (data == nullptr) return ResourceExhausted(path + ": cannot be mapped: " + LastErrorText());
  return std::shared_ptr<MappedFile>(new MappedFile(path, static_cast<const uint8_t*>(data), size));
}

// To unlock pages that are not locked takes them out of the process's working set; the system keeps
// them while it has memory.
int64_t MappedFile::Drop() const {
  if (data_ == nullptr) return 0;
  bool taken = VirtualUnlock(const_cast<uint8_t*>(data_), static_cast<SIZE_T>(size_)) != 0;
  return taken || GetLastError() == ERROR_NOT_LOCKED ? size_ : 0;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) UnmapViewOfFile(data_);
}

}  // namespace mlc
