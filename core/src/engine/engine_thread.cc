#include "engine/engine_thread.h"

#include <cstdio>
#include <future>

#include "platform/host.h"

namespace mlc {
namespace {

thread_local bool is_callback_thread = false;
// Of the time, what giving memory back may take at most: 1 part in so many.
constexpr int kTrimShare = 50;
// Callbacks that wait, one a step: no step is begun above the first number, until they are down to
// the second. Events of a caller that is slower than the model would fill the memory.
constexpr size_t kMaxBacklog = 256, kSmallBacklog = 64;

// A caller's mistake must not end its process, nor the other requests.
template <typename Callback>
void Guarded(Callback&& callback) {
  try {
    callback();
  } catch (...) {
    std::fputs("mlc_llm: a callback threw an exception; it was ignored\n", stderr);
  }
}

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
  closing_ = true;
  compile_work_.Close();
  for (std::thread& thread : compile_threads_) thread.join();
  file_work_.Close();
  if (file_thread_.joinable()) file_thread_.join();
  callbacks_.Close();
  callback_thread_.join();
}

bool EngineThread::Do(Command command) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return false;
    commands_.push_back(std::move(command));
  }
  changed_.notify_one();
  return true;
}

bool EngineThread::Submit(Request request, EventSink sink) {
  auto shared = std::make_shared<EventSink>(std::move(sink));
  return Do(
      [this, shared = std::move(shared), request = std::move(request)](Engine* engine) mutable {
        RequestEvent refused;
        refused.id = request.id;
        std::optional<Grammar> grammar = request.grammar;
        bool is_ready = !grammar || grammar->ready();
        sinks_.emplace(request.id, std::move(shared));
        refused.status = engine->Add(std::move(request), /*may_wait=*/!is_ready);
        if (refused.status.ok())
          return is_ready ? void() : Compile(refused.id, std::move(*grammar));
        refused.finished = true;
        std::vector<RequestEvent> events;
        events.push_back(std::move(refused));
        Deliver(std::move(events));
      });
}

void EngineThread::WithPrompt(Request request, Continuation then) {
  Do([this, request = std::move(request), then = std::move(then)](Engine* engine) mutable {
    int held = engine->NumHeld(request.adapter, request.prompt);
    if (held == request.prompt.size()) return then(engine, Status());
    RequestEvent refused;
    refused.id = request.id;
    continuations_.emplace(request.id, std::move(then));
    refused.status = engine->Add(std::move(request));
    refused.finished = true;
    if (!refused.status.ok()) Continue(refused);
  });
}

bool EngineThread::Continue(const RequestEvent& event) {
  auto found = continuations_.find(event.id);
  if (found == continuations_.end()) return false;
  if (!event.finished) return true;
  Continuation then = std::move(found->second);
  continuations_.erase(found);
  then(engine_.get(), event.status);
  return true;
}

// Two at once, so that one that takes long does not keep the others waiting.
void EngineThread::Compile(RequestId id, Grammar grammar) {
  constexpr size_t kThreads = 2;
  if (compile_threads_.size() < kThreads) {
    compile_threads_.emplace_back([this] {
      while (std::optional<std::function<void()>> next = compile_work_.Pop()) Guarded(*next);
    });
  }
  compile_work_.Push([this, id, grammar = std::move(grammar)] {
    if (closing_) return;
    (void)grammar.Prepare();  // Release says what came of it
    (void)Do([id](Engine* engine) { engine->Release(id); });
  });
}

void EngineThread::DoFileWork(std::function<void()> work) {
  if (!file_thread_.joinable()) {
    file_thread_ = std::thread([this] {
      while (std::optional<std::function<void()>> next = file_work_.Pop()) Guarded(*next);
    });
  }
  file_work_.Push(std::move(work));
}

void EngineThread::Abort(RequestId id, Status status) {
  Do([id, status = std::move(status)](Engine* engine) { engine->Abort(id, status); });
}

void EngineThread::PauseRequest(RequestId id, bool paused) {
  Do([id, paused](Engine* engine) { engine->PauseRequest(id, paused); });
}

void EngineThread::Reset(Status status) {
  auto done = std::make_shared<std::promise<void>>();  // set_value may go on when the wait is over
  Do([this, done, status = std::move(status)](Engine* engine) {
    engine->AbortAll(status);
    engine->UnpinPrompts();
    engine->ClearPrefixCache();
    engine->ResetMetrics();
    PublishMetrics();
    done->set_value();
  });
  done->get_future().wait();  // for the step at hand: nothing that a command waits for takes longer
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

void EngineThread::TrimMemory() {
  Do([](Engine* engine) {
    engine->ClearPrefixCache();
    ReleaseFreeMemory();
  });
}

void EngineThread::TakeTrace(std::function<void(const std::string& json)> callback) {
  Do([this, callback = std::move(callback)](Engine* engine) {
    if (engine->trace() == nullptr) return Post([callback] { callback(""); });
    // The compute thread copies, the callback thread writes the text.
    Post([callback, trace = *engine->trace()] { callback(trace.ToJson()); });
  });
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
      paused = paused_ || CallbacksAreBehind();
    }
    for (Command& command : commands) command(engine_.get());
    if (stopping)
      engine_->AbortAll(Unavailable("the model was unloaded").WithReason("model_unloaded"));
    if (paused) {
      engine_->EndOverdue();
    } else if (engine_->has_work()) {
      engine_->Step();
      has_stepped_ = true;
    }
    PublishMetrics();  // before the events: who sees a request end finds it counted
    Deliver(engine_->TakeEvents());
    TrimWhenIdle();
  }
}

// The temporaries of prompts are large and of many sizes. Freed, they stay with the process, and
// the next ones lie beside them: in a chat with a small model 30 MB after 100 answers.
void EngineThread::TrimWhenIdle() {
  Clock::time_point begin = Clock::now();
  if (!has_stepped_ || engine_->has_work() || begin < next_trim_) return;
  ReleaseFreeMemory();
  Clock::time_point end = Clock::now();
  next_trim_ = end + kTrimShare * (end - begin);
  has_stepped_ = false;
}

void EngineThread::WaitForWork(std::unique_lock<std::mutex>* lock) {
  auto wakes = [this] {
    if (stopping_ || !commands_.empty()) return true;
    return engine_->has_work() && !paused_ && !CallbacksAreBehind();
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

bool EngineThread::CallbacksAreBehind() {
  if (callbacks_.size() <= kMaxBacklog) return false;
  waits_for_callbacks_ = true;
  return true;
}

// The events of a step travel together: one wake of the callback thread, not one for each.
void EngineThread::Deliver(std::vector<RequestEvent> events) {
  std::vector<std::pair<std::shared_ptr<EventSink>, RequestEvent>> deliveries;
  deliveries.reserve(events.size());
  for (RequestEvent& event : events) {
    if (Continue(event)) continue;
    auto sink = sinks_.find(event.id);
    if (sink == sinks_.end()) continue;  // it ended before: an abort met its last token
    std::shared_ptr<EventSink> keep = sink->second;
    if (event.finished) sinks_.erase(sink);
    deliveries.emplace_back(std::move(keep), std::move(event));
  }
  if (deliveries.empty()) return;
  Post([deliveries = std::move(deliveries)]() mutable {
    for (auto& [sink, event] : deliveries) {
      Guarded([&sink = sink, &event = event] { (*sink)(std::move(event)); });
    }
  });
}

bool EngineThread::InCallback() { return is_callback_thread; }

void EngineThread::CallbackLoop() {
  is_callback_thread = true;
  while (std::optional<std::function<void()>> callback = callbacks_.Pop()) {
    Guarded(*callback);
    if (!waits_for_callbacks_ || callbacks_.size() > kSmallBacklog) continue;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      waits_for_callbacks_ = false;
    }
    changed_.notify_one();
  }
}

}  // namespace mlc
