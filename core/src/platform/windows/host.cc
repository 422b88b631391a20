// platform/host.h and platform/memory.h on Windows.
#include "platform/host.h"

#include <algorithm>
#include <ctime>
#include <thread>
#include <vector>

#include "platform/memory.h"
#include "platform/pages.h"
#include "platform/windows/system.h"

namespace mlc {
namespace {

// A priority of Windows stands for ten of `nice`.
constexpr int kLowestFrom = 10;

uintptr_t SystemPage() {
  static const uintptr_t bytes = [] {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return static_cast<uintptr_t>(info.dwPageSize);
  }();
  return bytes;
}

}  // namespace

int NumAvailableCores() {
  DWORD_PTR mask = 0, all = 0;
  if (!GetProcessAffinityMask(GetCurrentProcess(), &mask, &all)) mask = ~DWORD_PTR{0};
  DWORD bytes = 0;
  GetLogicalProcessorInformation(nullptr, &bytes);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> parts(bytes / sizeof(parts[0]));
  int cores = 0;
  if (!parts.empty() && GetLogicalProcessorInformation(parts.data(), &bytes)) {
    cores = static_cast<int>(std::count_if(parts.begin(), parts.end(), [mask](const auto& part) {
      return part.Relationship == RelationProcessorCore && (part.ProcessorMask & mask) != 0;
    }));
  }
  return cores > 0 ? cores : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void LowerThreadPriority(int nice) {
  if (nice <= 0) return;
  int priority = nice < kLowestFrom ? THREAD_PRIORITY_BELOW_NORMAL : THREAD_PRIORITY_LOWEST;
  (void)SetThreadPriority(GetCurrentThread(), priority);
}

int64_t ProcessNumber() { return GetCurrentProcessId(); }

// Documented nowhere, and in every Windows; C libraries ask it for the same reason.
bool ProcessIsEnding() {
  void* ask = reinterpret_cast<void*>(
      GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlDllShutdownInProgress"));
  return ask != nullptr && reinterpret_cast<BOOLEAN(NTAPI*)()>(ask)() != 0;
}

void KeepThisLibraryOpen() {
  constexpr DWORD kFlags = GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
  HMODULE library = nullptr;
  GetModuleHandleExW(kFlags, reinterpret_cast<const wchar_t*>(&KeepThisLibraryOpen), &library);
}

int64_t AvailableMemoryBytes() {
  MEMORYSTATUSEX status = {};
  status.dwLength = sizeof(status);
  return GlobalMemoryStatusEx(&status) ? static_cast<int64_t>(status.ullAvailPhys) : 0;
}

void ReleaseFreeMemory() {}

std::string EnvironmentText(const char* name) {
  std::wstring wide = windows::Wide(name);
  DWORD length = GetEnvironmentVariableW(wide.c_str(), nullptr, 0);
  std::wstring value(length, L'\0');
  value.resize(length == 0 ? 0 : GetEnvironmentVariableW(wide.c_str(), value.data(), length));
  return windows::Narrow(value);
}

std::tm LocalTime(std::time_t time) {
  std::tm local{};
  localtime_s(&local, &time);
  return local;
}

int64_t DiscardMemory(void* data, int64_t bytes) {
  PageRange pages = WholePages(data, bytes, SystemPage());
  // The content is lost; what is unlocked leaves the process's working set.
  if (pages.bytes == 0 ||
      VirtualAlloc(pages.begin, pages.bytes, MEM_RESET, PAGE_READWRITE) == nullptr) {
    return 0;
  }
  (void)VirtualUnlock(pages.begin, pages.bytes);
  return static_cast<int64_t>(pages.bytes);
}

int64_t TouchMemory(const void* data, int64_t bytes) {
  return TouchPages(data, bytes, SystemPage());
}

void ReadScattered(void*, int64_t) {}

void UseLargePages(void*, int64_t) {}

void* ReserveAddresses(size_t bytes) {
  return VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS);
}

void GiveBackAddresses(void* begin, size_t) { VirtualFree(begin, 0, MEM_RELEASE); }

}  // namespace mlc
