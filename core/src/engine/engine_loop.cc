#include "engine/engine_loop.h"

#include "engine/guarded.h"
#include "platform/host.h"

namespace mlc {
namespace {

// Returning memory to the system takes at most 1/kTrimShare of the time.
constexpr int kTrimShare = 50;

}  // namespace

bool EngineLoop::Submit(Request request, EventSink sink) {
  auto shared = std::make_shared<EventSink>(std::move(sink));
  return Do(
      [this, shared = std::move(shared), request = std::move(request)](Engine* engine) mutable {
        RequestEvent refused;
        refused.id = request.id;
        std::optional<Grammar> grammar = request.grammar;
        bool is_ready = !grammar || grammar->ready();
        auto reading = kept_ != nullptr ? kept_->Find(request) : nullptr;
        sinks_.emplace(request.id, std::move(shared));
        RequestId id = request.id;
        refused.status = engine->Add(std::move(request), /*hold=*/!is_ready || reading != nullptr);
        if (refused.status.ok() && reading != nullptr) {
          return kept_->Read(reading, id, [this, id, grammar] { GoOn(id, grammar); });
        }
        if (refused.status.ok()) return GoOn(id, grammar);
        refused.finished = true;
        std::vector<RequestEvent> events;
        events.push_back(std::move(refused));
        Deliver(std::move(events));
      });
}

void EngineLoop::GoOn(RequestId id, const std::optional<Grammar>& grammar) {
  if (!engine_->Holds(id)) return;  // it runs already, or has ended
  bool is_ready = !grammar || grammar->ready();
  is_ready ? engine_->Release(id) : Compile(id, *grammar);
}

void EngineLoop::KeepPrefixes(PrefixPlaces places) {
  Do([this, places = std::move(places)](Engine* engine) {
    if (!KeptPrefixes::Suits(*engine)) return;
    kept_ = std::make_unique<KeptPrefixes>(this, engine, places);
  });
}

std::function<void()> EngineLoop::CompileTask(RequestId id, Grammar grammar) {
  auto has_ended = std::make_shared<std::atomic<bool>>(false);
  compiling_[id] = has_ended;
  return [this, id, has_ended, grammar = std::move(grammar)] {
    if (*has_ended) return;
    (void)grammar.Prepare(has_ended.get());  // Release reports the result
    (void)Do([this, id](Engine* engine) {
      if (compiling_.erase(id) > 0) engine->Release(id);
    });
  };
}

void EngineLoop::WithPrompt(Request request, Continuation then) {
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

bool EngineLoop::Continue(const RequestEvent& event) {
  auto found = continuations_.find(event.id);
  if (found == continuations_.end()) return false;
  if (!event.finished) return true;
  Continuation then = std::move(found->second);
  continuations_.erase(found);
  then(engine_.get(), event.status);
  return true;
}

void EngineLoop::Abort(RequestId id, Status status) {
  Do([id, status = std::move(status)](Engine* engine) { engine->Abort(id, status); });
}

void EngineLoop::PauseRequest(RequestId id, bool paused) {
  Do([id, paused](Engine* engine) { engine->PauseRequest(id, paused); });
}

Metrics EngineLoop::metrics() {
  std::lock_guard<std::mutex> lock(mutex_);
  return metrics_;
}

void EngineLoop::TrimMemory() {
  Do([](Engine* engine) {
    engine->ClearPrefixCache();
    ReleaseFreeMemory();
  });
}

void EngineLoop::TakeTrace(std::function<void(const std::string& json)> callback) {
  Do([this, callback = std::move(callback)](Engine* engine) {
    if (engine->trace() == nullptr) return Post([callback] { callback(""); });
    // The compute thread copies the trace. The callback thread writes the text.
    Post([callback, trace = *engine->trace()] { callback(trace.ToJson()); });
  });
}

// What both kinds of loops do each time.
void EngineLoop::RunOnce(std::vector<Command> commands, bool stopping, bool paused) {
  for (Command& command : commands) command(engine_.get());
  if (stopping)
    engine_->AbortAll(Unavailable("the model was unloaded").WithReason(Reason::kModelUnloaded));
  if (!paused && engine_->has_work()) {
    engine_->Step();
    has_stepped_ = true;
  } else {
    engine_->EndOverdue();  // also of requests that are held
  }
  // before the events: a caller that sees the end of a request must find it counted
  PublishMetrics();
  Deliver(engine_->TakeEvents());
  TrimWhenIdle();
}

void EngineLoop::ResetEngine(const Status& status) {
  engine_->AbortAll(status);
  engine_->UnpinPrompts();
  engine_->ClearPrefixCache();
  engine_->ResetMetrics();
  PublishMetrics();
}

// Prompts need large temporaries of many sizes. After they are freed, the process keeps their
// memory, and the next ones are allocated beside it. A chat with a small model grows by 30 MB in
// 100 answers.
void EngineLoop::TrimWhenIdle() {
  Clock::time_point begin = Clock::now();
  if (!has_stepped_ || engine_->has_work() || begin < next_trim_) return;
  ReleaseFreeMemory();
  Clock::time_point end = Clock::now();
  next_trim_ = end + kTrimShare * (end - begin);
  has_stepped_ = false;
}

void EngineLoop::PublishMetrics() {
  std::lock_guard<std::mutex> lock(mutex_);
  metrics_ = engine_->metrics();
  if (kept_ != nullptr) metrics_.kept_memory_bytes = kept_->memory_bytes();
}

void EngineLoop::Post(std::function<void()> callback) { callbacks_.Push(std::move(callback)); }

// The events of a step are delivered together, so the callback thread wakes once and not once for
// each event.
void EngineLoop::Deliver(std::vector<RequestEvent> events) {
  std::vector<std::pair<std::shared_ptr<EventSink>, RequestEvent>> deliveries;
  deliveries.reserve(events.size());
  for (RequestEvent& event : events) {
    if (Continue(event)) continue;
    auto sink = sinks_.find(event.id);
    // the request has ended: it was aborted just before its last token
    if (sink == sinks_.end()) continue;
    std::shared_ptr<EventSink> keep = sink->second;
    if (event.finished) sinks_.erase(sink);
    auto compiling = event.finished ? compiling_.find(event.id) : compiling_.end();
    if (compiling != compiling_.end()) *compiling_.extract(compiling).mapped() = true;
    deliveries.emplace_back(std::move(keep), std::move(event));
  }
  if (deliveries.empty()) return;
  Post([deliveries = std::move(deliveries)]() mutable {
    for (auto& [sink, event] : deliveries) {
      Guarded([&sink = sink, &event = event] { (*sink)(std::move(event)); });
    }
  });
}

}  // namespace mlc
