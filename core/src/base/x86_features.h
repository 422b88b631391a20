// The features of an x86-64 CPU, read from the CPU itself.
//
//   if (HasX86Feature("avx2")) ...
//
// For systems where the compiler's own `__builtin_cpu_supports` knows none: on Windows it reads a
// table of the compiler's runtime library, and that of `zig` stays empty.
#pragma once

#include <string_view>

namespace mlc {

// Whether the CPU has the feature, by LLVM's name, and the system saves its registers. False for a
// name that is not known, and on other CPUs.
bool HasX86Feature(std::string_view name);

}  // namespace mlc

// Clang before 18 does not know all names.
#if defined(_WIN32) || (defined(__clang__) && __clang_major__ < 18)
#define MLC_CPU_SUPPORTS(name) ::mlc::HasX86Feature(name)
#else
// A static variable may ask before the constructor that reads the CPU's features, where that one is
// linked behind it, as Xcode does.
#define MLC_CPU_SUPPORTS(name) (__builtin_cpu_init(), __builtin_cpu_supports(name) != 0)
#endif
