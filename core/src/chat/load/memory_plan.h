// The memory that a model would use in an engine, in numbers and in words, without loading the
// model.
#pragma once

#include <cstdint>
#include <string>

#include "chat/protocol/protocol.gen.h"
#include "model/model.h"

namespace mlc {

struct PlanSubject {
  std::string name;    // the model's name in answers
  std::string device;  // "cpu:0"
  ModelInfo model;
  int64_t available_bytes = 0;  // free on the device
  bool takes_pictures = false;
};

// If the model does not fit, the plan says so. Wrong settings are errors, as when loading.
Result<protocol::Plan> PlanMemory(const protocol::EngineConfig& config, const PlanSubject& subject);

}  // namespace mlc
