// The features of an x86-64 CPU, read from the CPU itself.
//
//   if (HasX86Feature("avx2")) ...
//
// The compilers' own `__builtin_cpu_supports` is not used: Clang before 18 does not know all names,
// and on Windows it reads a table of the compiler's runtime library, and that of `zig` stays empty.
#pragma once

#include <string_view>
#include <vector>

namespace mlc {

// Whether the CPU has the feature, by LLVM's name, and the system saves its registers. False for a
// name that is not known, and on other CPUs.
bool HasX86Feature(std::string_view name);

// The names that are known, on every CPU.
const std::vector<const char*>& X86FeatureNames();

}  // namespace mlc
