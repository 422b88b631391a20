// Members of a request that no field has.
#ifndef MLC_CHAT_REQUEST_UNKNOWN_MEMBER_H_
#define MLC_CHAT_REQUEST_UNKNOWN_MEMBER_H_

#include "base/json.h"
#include "base/status.h"

namespace mlc {

// `kept` is what reading and writing `given` has left. Errors: kInvalidArgument with the path of a
// member that is lost, as in "tools[0].function.parameter". A null is no member.
Status CheckNoUnknownMember(const Json& given, const Json& kept);

}  // namespace mlc

#endif  // MLC_CHAT_REQUEST_UNKNOWN_MEMBER_H_
