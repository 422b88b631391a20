// The Windows part of platform/shared_library.h: DLLs. A DLL names the library of each function
// that it calls, so there is no scope.
#pragma once

#include <string>

namespace mlc {

enum class LibraryScope { kLocal, kGlobal, kLazy };

void* OpenLibrary(const char* path, LibraryScope scope);
void* OpenIfLoaded(const char* path);
void CloseLibrary(void* library);
std::string LibraryError();
void* FindSymbol(void* library, const char* name);
std::string LibraryOf(const void* address);  // with slashes

}  // namespace mlc
