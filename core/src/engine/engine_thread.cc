#include "engine/engine_thread.h"

#include <cstdio>

namespace mlc {
namespace {

thread_local bool is_callback_thread = false;

}  // namespace

EngineThread::EngineThread(std::unique_ptr<Engine> engine, std::function<void()> on_start)
    : engine_(std::move(engine)), metrics_(engine_->metrics()) {
  compute_thread_ = std::thread([this, on_start = std::move(on_start)] { ComputeLoop(on_start); });
  callback_thread_ = std::thread([this] { CallbackLoop(); });
}

EngineThread::~EngineThread() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  compute_thread_.join();
  callbacks_.Close();
  callback_thread_.join();
}

void EngineThread::Do(Command command) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    commands_.push_back(std::move(command));
  }
  changed_.notify_one();
}

void EngineThread::Submit(Request request, EventSink sink) {
  auto shared = std::make_shared<EventSink>(std::move(sink));
  Do([this, shared = std::move(shared), request = std::move(request)](Engine* engine) mutable {
    RequestEvent refused;
    refused.id = request.id;
    sinks_.emplace(request.id, std::move(shared));
    refused.status = engine->Add(std::move(request));
    if (refused.status.ok()) return;
    refused.finished = true;
    Deliver(std::move(refused));
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

void EngineThread::ClearPrefixCache() {
  Do([](Engine* engine) { engine->ClearPrefixCache(); });
}

void EngineThread::ComputeLoop(const std::function<void()>& on_start) {
  if (on_start) on_start();
  bool stopping = false;
  while (!stopping) {
    std::vector<Command> commands;
    bool paused;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      WaitForWork(&lock);
      commands.swap(commands_);
      stopping = stopping_;
      paused = paused_;
    }
    for (Command& command : commands) command(engine_.get());
    if (stopping)
      engine_->AbortAll(Unavailable("the model was unloaded").WithReason("model_unloaded"));
    if (paused) {
      engine_->EndOverdue();
    } else if (engine_->has_work()) {
      engine_->Step();
    }
    PublishMetrics();  // before the events: who sees a request end finds it counted
    for (RequestEvent& event : engine_->TakeEvents()) Deliver(std::move(event));
  }
}

void EngineThread::WaitForWork(std::unique_lock<std::mutex>* lock) {
  auto wakes = [this] {
    return stopping_ || !commands_.empty() || (engine_->has_work() && !paused_);
  };
  if (std::optional<Clock::time_point> deadline = engine_->next_deadline()) {
    changed_.wait_until(*lock, *deadline, wakes);
  } else {
    changed_.wait(*lock, wakes);
  }
}

void EngineThread::PublishMetrics() {
  std::lock_guard<std::mutex> lock(mutex_);
  metrics_ = engine_->metrics();
}

void EngineThread::Post(std::function<void()> callback) { callbacks_.Push(std::move(callback)); }

void EngineThread::Deliver(RequestEvent event) {
  auto sink = sinks_.find(event.id);
  if (sink == sinks_.end()) return;  // it ended before: an abort met its last token
  std::shared_ptr<EventSink> keep = sink->second;
  if (event.finished) sinks_.erase(sink);
  Post([keep = std::move(keep), event = std::move(event)]() mutable { (*keep)(std::move(event)); });
}

bool EngineThread::InCallback() { return is_callback_thread; }

void EngineThread::CallbackLoop() {
  is_callback_thread = true;
  while (std::optional<std::function<void()>> callback = callbacks_.Pop()) {
    try {
      (*callback)();
    } catch (...) {
      // A caller's mistake must not end its process, nor the other requests.
      std::fputs("mlc_llm: a callback threw an exception; it was ignored\n", stderr);
    }
  }
}

}  // namespace mlc
