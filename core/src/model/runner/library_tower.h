// The function of a model library that turns patches into rows, on the device of the model.
#pragma once

#include <memory>
#include <vector>

#include "model/model_config.h"
#include "model/vit_tower.h"
#include "runtime/model_library.h"
#include "runtime/weights.h"

namespace mlc {

// `metadata` has a tower. `params`: all parameters, in the library's order; `weights` owns their
// memory. The function runs kernel by kernel.
Result<std::shared_ptr<TowerProgram>> LoadTowerProgram(std::shared_ptr<ModelLibrary> library,
                                                       const LibraryMetadata& metadata,
                                                       const TensorList& params,
                                                       std::shared_ptr<Weights> weights,
                                                       Device device);

}  // namespace mlc
