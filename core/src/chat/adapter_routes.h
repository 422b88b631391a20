// The routes adapters.load, adapters.unload and adapters.list.
#pragma once

#include "chat/answer/answerer.h"
#include "chat/protocol/protocol.gen.h"
#include "engine/engine_loop.h"

namespace mlc {

struct AdapterRoutes {
  EngineLoop* loop;

  // Take an AdapterLoadRequest, an AdapterUnloadRequest and an AdapterListRequest. A wrong request
  // is refused, without an event; otherwise `callback` gets one event with an AdapterList. Load
  // reads the file on the calling thread.
  Status Load(const Json& json, ChatCallback callback) const;
  Status Unload(const Json& json, ChatCallback callback) const;
  Status List(const Json& json, ChatCallback callback) const;
};

}  // namespace mlc
