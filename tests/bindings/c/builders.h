// Requests written with the core's structs (vectors, kind `build`).
#pragma once

#include <map>
#include <string>

#include "base/json.h"

namespace mlc {

// By the name of the case: the value that it asks for, written.
const std::map<std::string, Json (*)()>& Builders();

}  // namespace mlc
