// The folders that a program gives to the engine, as JSON.
#pragma once

#include <string_view>

#include "base/status.h"

namespace mlc {

// Takes a Directories (codegen/schema) for the whole process. Makes the folders for files that the
// engine writes. Errors: kInvalidArgument, with the member's name, for a folder that cannot be
// written.
Status SetDirectories(std::string_view directories_json);

}  // namespace mlc
