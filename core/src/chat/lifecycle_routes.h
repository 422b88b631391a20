// The routes of an app's life: memory.trim, prewarm and thermal.set. They also work while the
// engine is paused.
#pragma once

#include "chat/answer/answerer.h"
#include "chat/protocol/protocol.gen.h"
#include "engine/engine_loop.h"

namespace mlc {

struct LifecycleRoutes {
  EngineLoop* loop;
  int num_threads;  // that compute when the device is cool

  // A wrong request is refused, without an event; otherwise `callback` gets one event.
  Status Trim(const Json& json, ChatCallback callback) const;
  Status Prewarm(const Json& json, ChatCallback callback) const;
  Status SetThermalState(const Json& json, ChatCallback callback) const;
};

}  // namespace mlc
