// The engine behind the C ABI: a model, its chat layer and its threads. JSON in, JSON out.
//
// Every method may be called from any thread. Load and Unload return an error inside a callback.
// The destructor must not run inside a callback.
#pragma once

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
#include "chat/request/embedding_builder.h"
#include "chat/request/media.h"
#include "engine/engine_loop.h"

namespace mlc {

struct AdapterRoutes;
struct LifecycleRoutes;

class ChatEngine {
 public:
  // `config_json`: an EngineConfig.
  static Result<std::unique_ptr<ChatEngine>> Create(std::string_view config_json);
  // Cancels a load that runs on another thread, and waits for it.
  ~ChatEngine();

  // `model_json`: {"model": folder, "model_lib": file, "device": "auto", "name": the model's name
  // in answers (default: the folder's name), "draft": {"model", "model_lib"} if drafting needs a
  // model, "strips": see ModelFiles}. Replaces a loaded model. On the device "fake" a script
  // answers, without weights and library.
  Status Load(std::string_view model_json, const ChatProgress& progress);
  // The same with a model that exists already (for tests).
  Status LoadModel(std::unique_ptr<Model> model, ModelBundle bundle, std::string name,
                   std::unique_ptr<Model> draft = nullptr);
  Status Unload();
  // The memory that Load of the same `model_json` would allocate: a Plan as JSON. Loads nothing.
  Result<std::string> Plan(std::string_view model_json) const;

  // A wrong request is refused here, without an event. `buffers`: the bytes to which parts of
  // messages refer (chat/request/media.h).
  Result<RequestId> Submit(std::string_view route, std::string_view json, ChatCallback callback,
                           const MediaBuffers& buffers = {});
  Status Abort(RequestId id);
  // While a request is paused, it does not run (Engine::PauseRequest).
  Status PauseRequest(RequestId id, bool paused);
  Status Reset();
  // Frees the prefix cache.
  Status TrimMemory();
  // For the requests that name it (logit_processors.h).
  Status SetLogitProcessor(const std::string& name, LogitProcessor processor);
  Status Pause(bool paused);
  Result<std::string> MetricsJson();

 private:
  struct Loaded {
    ModelBundle bundle;
    std::string name;
    int num_threads = 1;
    std::unique_ptr<EngineLoop> loop;
  };
  class LoadScope;
  Status LoadFiles(std::string_view model_json, const ChatProgress& progress);
  // `config`: with the mode in which `draft` drafts.
  Result<std::unique_ptr<Loaded>> MakeLoaded(const protocol::EngineConfig& config,
                                             std::unique_ptr<Model> model, ModelBundle bundle,
                                             std::string name, std::unique_ptr<Model> draft);
  void Install(std::unique_ptr<Loaded> loaded);
  explicit ChatEngine(protocol::EngineConfig config) : config_(std::move(config)) {}
  static Status NoModel();
  int NumComputeThreads() const;
  // The routes (chat_routes.cc). Who calls these holds `loaded_mutex_`.
  struct Ask {
    const Json& json;
    ChatCallback callback;
    const MediaBuffers& buffers;
  };
  struct Route;
  static const Route kRoutes[];
  static std::string RouteNames(bool that_take_buffers = false);
  Result<RequestId> SubmitChat(Ask ask);
  Result<RequestId> SubmitCompletion(Ask ask);
  Result<RequestId> SubmitEmbedding(Ask ask);
  Result<RequestId> SubmitRerank(Ask ask);
  Result<RequestId> SubmitKVSave(Ask ask);
  Result<RequestId> SubmitKVLoad(Ask ask);
  Result<RequestId> SubmitKVHeld(Ask ask);
  Result<RequestId> SubmitTrace(Ask ask);
  // What needs no step of the engine.
  template <Result<Json> (*answer)(const ModelBundle&, const Json&, const MediaBuffers&)>
  Result<RequestId> SubmitNow(Ask ask);
  template <Status (LifecycleRoutes::*submit)(const Json&, ChatCallback) const>
  Result<RequestId> SubmitLifecycle(Ask ask);
  template <Status (AdapterRoutes::*submit)(const Json&, ChatCallback) const>
  Result<RequestId> SubmitAdapters(Ask ask);
  // Checks the requests of texts and gives them ids.
  Result<std::vector<Request>> TakeTexts(std::vector<TextRequest> texts);
  // Queues the requests of one answer. Their ids are consecutive.
  void Run(std::vector<Request> requests, std::unique_ptr<Answerer> answerer);
  std::shared_ptr<RequestGroup> FindGroup(RequestId id);
  Status WithLoop(const std::function<void(EngineLoop*)>& act);

  protocol::EngineConfig config_;
  std::shared_ptr<LogitProcessors> logit_processors_ = std::make_shared<LogitProcessors>();
  std::mutex closing_mutex_;
  std::condition_variable load_ended_;
  bool closing_ = false;
  int num_loads_ = 0;               // number of running loads
  std::mutex load_mutex_;           // one load or unload at a time
  std::shared_mutex loaded_mutex_;  // each user of `loaded_` holds it for a short time
  std::unique_ptr<Loaded> loaded_;
  std::atomic<RequestId> next_id_{1};
  std::mutex groups_mutex_;
  std::unordered_map<RequestId, std::shared_ptr<RequestGroup>> groups_;  // by their first id
};

}  // namespace mlc
