// Which compiled library a load means.
#ifndef MLC_CHAT_LOAD_LIBRARY_PATH_H_
#define MLC_CHAT_LOAD_LIBRARY_PATH_H_

#include <optional>
#include <string>

#include "base/status.h"

namespace mlc {

// The path or `system://` name of the library. A bare name ("llama_q3f16_1") that is no file is one
// that is linked into the program, as in MLC-LLM's apps. Without a name: the one library in the
// folder `lib` of the model's folder, or its file `lib.so`. Errors: kNotFound when there is none,
// kInvalidArgument when there are several.
Result<std::string> LibraryPath(const std::string& folder, const std::optional<std::string>& named);

}  // namespace mlc

#endif  // MLC_CHAT_LOAD_LIBRARY_PATH_H_
