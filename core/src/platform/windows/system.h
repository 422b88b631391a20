// Windows' own header, and what each file over it needs: text in its two forms, and errors in the
// words of the other systems.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
// It is a macro there, and a function of ours.
#undef ReplaceFile

#include <string>

namespace mlc::windows {

// UTF-16 of a text in UTF-8.
std::wstring Wide(const std::string& text);
std::string Narrow(const std::wstring& text);

// A path in the form that Windows' functions take: with backslashes, and with the prefix \\?\ where
// it is longer than they otherwise allow.
std::wstring WidePath(const std::string& path);
// The same of the whole path, from the current folder on where it is relative.
std::wstring FullPath(const std::string& path);

// What strerror says of the error that the last function of this thread has left (GetLastError).
std::string LastErrorText();
// The errno that stands for an error of Windows; EIO for one that has none.
int ErrnoOf(DWORD error);

}  // namespace mlc::windows
