// A Status as OpenAI's error object.
#ifndef MLC_CHAT_PROTOCOL_ERROR_JSON_H_
#define MLC_CHAT_PROTOCOL_ERROR_JSON_H_

#include "base/json.h"
#include "base/status.h"

namespace mlc {

// {"error": {"message", "type", "param", "code", "status"}} of an error; `param` may be null.
Json ErrorJson(const Status& status);

}  // namespace mlc

#endif  // MLC_CHAT_PROTOCOL_ERROR_JSON_H_
