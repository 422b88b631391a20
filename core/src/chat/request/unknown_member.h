// Finds members of a request that are not fields of the protocol.
#pragma once

#include "base/json.h"
#include "base/status.h"

namespace mlc {

// `kept` is `given` after it was read and written again. Errors: kInvalidArgument with the path of
// a lost member, such as "tools[0].function.parameter". A member that is null does not count.
Status CheckNoUnknownMember(const Json& given, const Json& kept);

}  // namespace mlc
