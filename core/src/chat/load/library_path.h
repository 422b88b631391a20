// Finds the compiled library for a load.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"

namespace mlc {

// Returns the path or the `system://` name of the library. A bare name ("llama_q3f16_1") that is
// not a file means a library that is bundled with the program, as in MLC-LLM's apps: a file in the
// folders that were set, else one of the app's libraries, else one that is linked into the program.
// Without a name, it is the only library in the folder `lib` of the model's folder, or the file
// `lib.so`. Errors: kNotFound if there is none; kInvalidArgument if there are several.
Result<std::string> LibraryPath(const std::string& folder, const std::optional<std::string>& named);

}  // namespace mlc
