// The routes kv.save and kv.load: the state of a conversation to a file and back.
#ifndef MLC_CHAT_KV_ROUTES_H_
#define MLC_CHAT_KV_ROUTES_H_

#include "chat/answer/answerer.h"
#include "chat/load/model_bundle.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/request/media.h"
#include "engine/engine_thread.h"

namespace mlc {

struct KVRoutes {
  const protocol::EngineConfig& config;
  const ModelBundle& bundle;
  EngineThread* thread;

  // A KVSaveRequest and a KVLoadRequest. What is wrong is refused, with no event; otherwise
  // `callback` gets one. `id`: under which the prompt is computed where it must be.
  Status Save(RequestId id, const Json& json, const MediaBuffers& buffers,
              ChatCallback callback) const;
  Status Load(const Json& json, ChatCallback callback) const;
};

}  // namespace mlc

#endif  // MLC_CHAT_KV_ROUTES_H_
