#include "chat/protocol/error_json.h"

#include "base/utf8.h"
#include "chat/protocol/protocol.gen.h"

namespace mlc {
namespace {

// OpenAI's error type for each code, and the `code` for a status without a reason.
struct Family {
  const char* type;
  const char* code;
};

Family FamilyOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return {"invalid_request_error", "invalid_request"};
    case StatusCode::kNotFound:
      return {"not_found_error", "not_found"};
    case StatusCode::kCorrupt:
      return {"invalid_request_error", "corrupt_file"};
    case StatusCode::kUnsupported:
      return {"invalid_request_error", "unsupported"};
    case StatusCode::kResourceExhausted:
      return {"server_error", "out_of_resources"};
    case StatusCode::kCancelled:
      return {"server_error", "request_cancelled"};
    case StatusCode::kUnavailable:
      return {"server_error", "unavailable"};
    case StatusCode::kDeadlineExceeded:
      return {"server_error", "timeout"};
    case StatusCode::kOk:
    case StatusCode::kInternal:
      break;
  }
  return {"server_error", "internal_error"};
}

}  // namespace

Json ErrorJson(const Status& status) {
  Family family = FamilyOf(status.code());
  protocol::ErrorResponse response;
  response.error.message = RepairUtf8(status.message());
  response.error.type = status.reason() == "queue_full" ? "rate_limit_error" : family.type;
  if (!status.param().empty()) response.error.param = RepairUtf8(status.param());
  response.error.code = status.reason().empty() ? family.code : status.reason();
  return response.ToJson();
}

}  // namespace mlc
