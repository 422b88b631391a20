// The routes kv.save and kv.load, which write the state of a conversation to a file and read it,
// and kv.held, which says what of a request's prompts the prefix cache holds.
#pragma once

#include "chat/answer/answerer.h"
#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/request/media.h"
#include "engine/engine_loop.h"

namespace mlc {

struct KVRoutes {
  const protocol::EngineConfig& config;
  const ModelBundle& bundle;
  EngineLoop* loop;

  // Take a KVSaveRequest and a KVLoadRequest. A wrong request is refused, without an event;
  // otherwise `callback` gets one event. `id`: the request id under which the prompt is computed if
  // necessary.
  Status Save(RequestId id, const Json& json, const MediaBuffers& buffers,
              ChatCallback callback) const;
  Status Load(const Json& json, ChatCallback callback) const;
  // The same with a KVHeldRequest.
  Status Held(const Json& json, const MediaBuffers& buffers, ChatCallback callback) const;
};

}  // namespace mlc
