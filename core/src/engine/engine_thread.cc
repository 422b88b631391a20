#include "engine/engine_thread.h"

namespace mlc {

EngineThread::EngineThread(std::unique_ptr<Engine> engine, std::function<void()> on_start)
    : engine_(std::move(engine)) {
  compute_ = std::thread([this, on_start = std::move(on_start)] { ComputeLoop(on_start); });
  callbacks_ = std::thread([this] { CallbackLoop(); });
}

EngineThread::~EngineThread() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  compute_.join();
  events_.Close();
  callbacks_.join();
}

void EngineThread::Do(Command command) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    commands_.push_back(std::move(command));
  }
  changed_.notify_one();
}

void EngineThread::Submit(Request request, EventSink sink) {
  {
    std::lock_guard<std::mutex> lock(sinks_mutex_);
    sinks_.emplace(request.id, std::move(sink));
  }
  Do([this, request = std::move(request)](Engine* engine) mutable {
    RequestEvent refused;
    refused.id = request.id;
    refused.status = engine->Add(std::move(request));
    if (refused.status.ok()) return;
    refused.finished = true;
    events_.Push(std::move(refused));
  });
}

void EngineThread::Abort(RequestId id, Status status) {
  Do([id, status = std::move(status)](Engine* engine) { engine->Abort(id, status); });
}

void EngineThread::AbortAll(Status status) {
  Do([status = std::move(status)](Engine* engine) { engine->AbortAll(status); });
}

void EngineThread::Pause(bool paused) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    paused_ = paused;
  }
  changed_.notify_one();
}

Metrics EngineThread::metrics() {
  std::lock_guard<std::mutex> lock(mutex_);
  return metrics_;
}

void EngineThread::ResetMetrics() {
  Do([](Engine* engine) { engine->ResetMetrics(); });
}

void EngineThread::ComputeLoop(const std::function<void()>& on_start) {
  if (on_start) on_start();
  bool stopping = false;
  while (!stopping) {
    std::vector<Command> commands;
    bool paused;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      metrics_ = engine_->metrics();
      changed_.wait(lock, [this] {
        return stopping_ || !commands_.empty() || (engine_->has_work() && !paused_);
      });
      commands.swap(commands_);
      stopping = stopping_;
      paused = paused_;
    }
    for (Command& command : commands) command(engine_.get());
    if (stopping)
      engine_->AbortAll(Unavailable("the model was unloaded").WithReason("model_unloaded"));
    if (!paused && engine_->has_work()) engine_->Step();
    for (RequestEvent& event : engine_->TakeEvents()) events_.Push(std::move(event));
  }
}

void EngineThread::CallbackLoop() {
  while (std::optional<RequestEvent> event = events_.Pop()) {
    EventSink sink;
    {
      std::lock_guard<std::mutex> lock(sinks_mutex_);
      auto found = sinks_.find(event->id);
      if (found == sinks_.end()) continue;
      if (event->finished) {
        sink = std::move(found->second);
        sinks_.erase(found);
      } else {
        sink = found->second;
      }
    }
    sink(*std::move(event));
  }
}

}  // namespace mlc
