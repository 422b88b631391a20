#include "platform/windows/shared_library.h"

#include <algorithm>

#include "platform/windows/system.h"

namespace mlc {
namespace {

// Of this thread. Functions that are called later change the system's own.
thread_local DWORD last_error = ERROR_SUCCESS;

void* Kept(HMODULE library) {
  last_error = library == nullptr ? GetLastError() : ERROR_SUCCESS;
  return library;
}

bool IsName(const std::string& path) { return path.find_first_of("/\\:") == std::string::npos; }

// The loader would look for a relative path in its own folders, and not in the current one.
std::wstring LoaderPath(const std::string& path) {
  return IsName(path) ? windows::WidePath(path) : windows::FullPath(path);
}

}  // namespace

// Of a path with a folder, the libraries that it needs are looked for beside it too.
void* OpenLibrary(const char* path, LibraryScope) {
  if (path == nullptr) return Kept(GetModuleHandleW(nullptr));
  DWORD beside = IsName(path) ? 0 : LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR;
  DWORD flags = LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | beside;
  return Kept(LoadLibraryExW(LoaderPath(path).c_str(), nullptr, flags));
}

void* OpenIfLoaded(const char* path) {
  HMODULE library = nullptr;
  GetModuleHandleExW(0, LoaderPath(path).c_str(), &library);
  return Kept(library);
}

void CloseLibrary(void* library) { FreeLibrary(static_cast<HMODULE>(library)); }

std::string LibraryError() {
  wchar_t* text = nullptr;
  constexpr DWORD kFlags =
      FORMAT_MESSAGE_ALLOCATE_BUFFER | FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
  DWORD length =
      FormatMessageW(kFlags, nullptr, last_error, 0, reinterpret_cast<wchar_t*>(&text), 0, nullptr);
  std::string message = length == 0 ? "" : windows::Narrow(std::wstring(text, length));
  LocalFree(text);
  message.erase(message.find_last_not_of("\r\n. ") + 1);
  return message.empty() ? "the library cannot be opened" : message;
}

void* FindSymbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

std::string LibraryOf(const void* address) {
  constexpr DWORD kFlags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  HMODULE library = nullptr;
  if (!GetModuleHandleExW(kFlags, static_cast<const wchar_t*>(address), &library)) return "";
  constexpr size_t kLongest = 32768;  // of any path
  std::wstring path(kLongest, L'\0');
  path.resize(GetModuleFileNameW(library, path.data(), static_cast<DWORD>(path.size())));
  std::replace(path.begin(), path.end(), L'\\', L'/');
  return windows::Narrow(path);
}

}  // namespace mlc
