// A Status as OpenAI's error object.
#pragma once

#include "base/json.h"
#include "base/status.h"

namespace mlc {

// {"error": {"message", "type", "param", "code", "status"}} of an error; `param` may be null.
Json ErrorJson(const Status& status);

}  // namespace mlc
