// The names under which a library is looked for when a program gives no path: in the app's folders,
// among the app's own libraries, which the system's loader finds, or linked into the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mlc {

// The prefixes of a linked library that is called `name`. MLC-LLM's apps leave out the final
// underscore of the prefix, and write dashes and dots where a C name has underscores.
//   "llama-q4f16_1" -> {"llama-q4f16_1", "llama-q4f16_1_", "llama_q4f16_1", "llama_q4f16_1_"}
std::vector<std::string> LinkedPrefixes(std::string_view name);

// The names of a library's variants that this CPU can run, the fastest one first. `mlc_llm package`
// puts them beside a library for a GPU, for machines without one.
//   "llama" -> {"llama_aarch64_dotprod", "llama_aarch64"} on an ARM CPU without i8mm
std::vector<std::string> CpuVariantNames(std::string_view name);

// The symbol of a model library in a shared library. That of a linked one has a prefix.
constexpr std::string_view kLibrarySymbol = "__tvm_ffi__library_bin";

// The name of a linked library in the content of the shared library `path`: linked libraries
// register themselves when the file is opened. "" when it holds none. It is the file's own name if
// that one is there, else the first one, without what the names of CPU variants end in.
//   "/app/lib/libllama.so" -> "llama", and so is a copy of it, "/app/lib.so"
std::string LinkedNameIn(std::string_view file, std::string_view path);

// The file names of a shared library that is called `name`: "libNAME.so", "NAME.so", on Apple's
// systems also with ".dylib", on Windows with ".dll"; then the same for NAME as a C name.
std::vector<std::string> LibraryFileNames(std::string_view name);

// The paths and names with which the device backend `backend` may be opened, in order. `folder`: of
// the library that asks; "" when it is linked into the program. Inside an APK there are no files,
// and the system's loader finds a library by its name alone.
std::vector<std::string> BackendNames(const std::string& folder,
                                      const std::vector<std::string>& libraries,
                                      std::string_view backend);

}  // namespace mlc
