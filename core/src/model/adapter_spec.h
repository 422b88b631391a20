// Reads from a library's metadata which layers take adapters (docs/model-library.md).
#pragma once

#include <memory>

#include "base/json.h"
#include "model/adapter_file.h"

namespace mlc {

// Null: the library takes no adapters.
Result<std::shared_ptr<const AdapterSpec>> ReadAdapterSpec(const Json& metadata);

}  // namespace mlc
