// Requests written with the core's structs (vectors, kind `build`).
#ifndef MLC_TESTS_BINDINGS_C_BUILDERS_H_
#define MLC_TESTS_BINDINGS_C_BUILDERS_H_

#include <map>
#include <string>

#include "base/json.h"

namespace mlc {

// By the name of the case: the value that it asks for, written.
const std::map<std::string, Json (*)()>& Builders();

}  // namespace mlc

#endif  // MLC_TESTS_BINDINGS_C_BUILDERS_H_
