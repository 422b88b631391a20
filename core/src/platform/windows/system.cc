#include "platform/windows/system.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mlc::windows {
namespace {

// Longer paths need the prefix. MAX_PATH is 260; a folder's path may have 12 fewer.
constexpr size_t kLongestPlain = 247;

struct ErrorPair {
  DWORD windows;
  int posix;
};

constexpr ErrorPair kErrors[] = {
    {ERROR_FILE_NOT_FOUND, ENOENT},      {ERROR_PATH_NOT_FOUND, ENOENT},
    {ERROR_INVALID_DRIVE, ENOENT},       {ERROR_BAD_NETPATH, ENOENT},
    {ERROR_BAD_NET_NAME, ENOENT},        {ERROR_BAD_PATHNAME, ENOENT},
    {ERROR_INVALID_NAME, ENOENT},        {ERROR_ACCESS_DENIED, EACCES},
    {ERROR_SHARING_VIOLATION, EACCES},   {ERROR_LOCK_VIOLATION, EACCES},
    {ERROR_USER_MAPPED_FILE, EACCES},    {ERROR_WRITE_PROTECT, EROFS},
    {ERROR_FILE_EXISTS, EEXIST},         {ERROR_ALREADY_EXISTS, EEXIST},
    {ERROR_DISK_FULL, ENOSPC},           {ERROR_HANDLE_DISK_FULL, ENOSPC},
    {ERROR_FILE_TOO_LARGE, EFBIG},       {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
    {ERROR_OUTOFMEMORY, ENOMEM},         {ERROR_COMMITMENT_LIMIT, ENOMEM},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE}, {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    {ERROR_DIRECTORY, ENOTDIR},          {ERROR_INVALID_PARAMETER, EINVAL},
    {ERROR_NOT_SUPPORTED, ENOTSUP},      {ERROR_NOT_READY, EBUSY},
};

std::wstring WithBackslashes(const std::string& path) {
  std::wstring wide = Wide(path);
  std::replace(wide.begin(), wide.end(), L'/', L'\\');
  return wide;
}

}  // namespace

std::wstring Wide(const std::string& text) {
  int size = static_cast<int>(text.size());
  int length = MultiByteToWideChar(CP_UTF8, 0, text.data(), size, nullptr, 0);
  std::wstring wide(static_cast<size_t>(length), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), size, wide.data(), length);
  return wide;
}

std::string Narrow(const std::wstring& text) {
  int size = static_cast<int>(text.size());
  int length = WideCharToMultiByte(CP_UTF8, 0, text.data(), size, nullptr, 0, nullptr, nullptr);
  std::string narrow(static_cast<size_t>(length), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), size, narrow.data(), length, nullptr, nullptr);
  return narrow;
}

std::wstring WidePath(const std::string& path) {
  std::wstring wide = WithBackslashes(path);
  return wide.size() <= kLongestPlain ? wide : FullPath(path);
}

std::wstring FullPath(const std::string& path) {
  std::wstring wide = WithBackslashes(path);
  if (wide.rfind(L"\\\\?\\", 0) == 0) return wide;
  DWORD length = GetFullPathNameW(wide.c_str(), 0, nullptr, nullptr);
  std::wstring full(length, L'\0');
  full.resize(GetFullPathNameW(wide.c_str(), length, full.data(), nullptr));
  if (full.empty()) return wide;
  if (full.size() <= kLongestPlain) return full;
  bool is_network = full.rfind(L"\\\\", 0) == 0;
  return is_network ? L"\\\\?\\UNC" + full.substr(1) : L"\\\\?\\" + full;
}

int ErrnoOf(DWORD error) {
  for (const ErrorPair& pair : kErrors) {
    if (pair.windows == error) return pair.posix;
  }
  return EIO;
}

std::string LastErrorText() { return std::strerror(ErrnoOf(GetLastError())); }

}  // namespace mlc::windows
