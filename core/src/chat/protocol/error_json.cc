#include "chat/protocol/error_json.h"

#include "base/utf8.h"
#include "chat/protocol/protocol.gen.h"

namespace mlc {
namespace {

// Both lists are generated from one.
protocol::ErrorStatus ToProtocol(StatusCode code) {
  static_assert(static_cast<int>(StatusCode::kInvalidArgument) == 1 &&
                static_cast<int>(protocol::ErrorStatus::kInvalidArgument) == 0);
  return static_cast<protocol::ErrorStatus>(static_cast<int>(code) - 1);
}

}  // namespace

Json ErrorJson(const Status& status) {
  MLC_ICHECK(!status.ok());
  protocol::ErrorResponse response;
  response.error.message = RepairUtf8(status.message());
  response.error.type = status.reason().type();
  if (!status.param().empty()) response.error.param = RepairUtf8(status.param());
  response.error.code = std::string(status.reason().name());
  response.error.status = ToProtocol(status.code());
  return response.ToJson();
}

}  // namespace mlc
