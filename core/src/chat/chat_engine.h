// The product's engine behind the C ABI: a model, its chat layer and its threads; JSON in and out.
//
// Every method may be called from any thread; Load and Unload refuse to run within a callback, and
// the destructor must not.
#ifndef MLC_CHAT_CHAT_ENGINE_H_
#define MLC_CHAT_CHAT_ENGINE_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "chat/answer/answerer.h"
#include "chat/answer/request_group.h"
#include "chat/load/model_bundle.h"
#include "chat/load/model_loader.h"
#include "chat/protocol/protocol.gen.h"
#include "chat/request/media.h"
#include "engine/engine_thread.h"

namespace mlc {

class ChatEngine {
 public:
  // `config_json`: an EngineConfig.
  static Result<std::unique_ptr<ChatEngine>> Create(std::string_view config_json);
  // Cancels a load that is under way on another thread and waits for it.
  ~ChatEngine();

  // `model_json`: {"model": folder, "model_lib": file, "device": "auto", "name": of the model
  // in answers (the folder's), "draft": {"model", "model_lib"} when drafting needs one}. Replaces a
  // loaded model. On the device "fake" a script answers in place of weights and library.
  Status Load(std::string_view model_json, const ChatProgress& progress);
  // The same with a model that is made already (tests).
  Status LoadModel(std::unique_ptr<Model> model, ModelBundle bundle, std::string name,
                   std::unique_ptr<Model> draft = nullptr);
  Status Unload();
  // What Load of the same `model_json` would allocate: a Plan as JSON. Loads nothing.
  Result<std::string> Plan(std::string_view model_json) const;

  // A request that is wrong is refused here, with no event. `buffers`: what parts of messages refer
  // to (chat/request/media.h).
  Result<RequestId> Submit(std::string_view route, std::string_view json, ChatCallback callback,
                           const MediaBuffers& buffers = {});
  Status Abort(RequestId id);
  // A paused request is none of the running ones until it is resumed (Engine::PauseRequest).
  Status PauseRequest(RequestId id, bool paused);
  Status Reset();
  // Gives up the prefix cache.
  Status TrimMemory();
  Status Pause(bool paused);
  Result<std::string> MetricsJson();

 private:
  struct Loaded {
    ModelBundle bundle;
    std::string name;
    std::unique_ptr<EngineThread> thread;
  };
  class LoadScope;
  Status LoadFiles(std::string_view model_json, const ChatProgress& progress);
  Result<std::unique_ptr<Loaded>> MakeLoaded(std::unique_ptr<Model> model, ModelBundle bundle,
                                             std::string name, std::unique_ptr<Model> draft);
  void Install(std::unique_ptr<Loaded> loaded);
  explicit ChatEngine(protocol::EngineConfig config) : config_(std::move(config)) {}
  Result<RequestId> SubmitTrace(ChatCallback callback);
  Result<RequestId> SubmitKV(std::string_view route, const Json& json, ChatCallback callback,
                             const MediaBuffers& buffers);
  // Of the two routes that generate.
  Result<RequestId> SubmitChat(const Json& json, ChatCallback callback,
                               const MediaBuffers& buffers);
  Result<RequestId> SubmitCompletion(const Json& json, ChatCallback callback);
  Result<RequestId> SubmitEmbedding(const Json& json, ChatCallback callback);
  // Queues the requests of one answer, whose ids follow each other.
  void Run(std::vector<Request> requests, std::unique_ptr<Answerer> answerer);
  static Result<Json> Answer(const ModelBundle& bundle, std::string_view route, const Json& json);
  std::shared_ptr<RequestGroup> FindGroup(RequestId id);
  Status WithThread(const std::function<void(EngineThread*)>& act);

  protocol::EngineConfig config_;
  std::mutex closing_mutex_;
  std::condition_variable load_ended_;
  bool closing_ = false;
  int num_loads_ = 0;               // under way
  std::mutex load_mutex_;           // one load or unload at a time
  std::shared_mutex loaded_mutex_;  // held shortly by all who use `loaded_`
  std::unique_ptr<Loaded> loaded_;
  std::atomic<RequestId> next_id_{1};
  std::mutex groups_mutex_;
  std::unordered_map<RequestId, std::shared_ptr<RequestGroup>> groups_;  // by their first id
};

}  // namespace mlc

#endif  // MLC_CHAT_CHAT_ENGINE_H_
