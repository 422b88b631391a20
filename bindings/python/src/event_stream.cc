#include "event_stream.h"

#include <chrono>

#include "interpreter_lock.h"
#include "mlc_llm.h"
#include "status.h"

namespace py = pybind11;

namespace mlc {
namespace {

// How often a wait looks for Ctrl-C.
constexpr std::chrono::milliseconds kSignalInterval(50);

std::string Forked() {
  return CoreError(Unavailable("the stream's events go to the process that forked this one")).json;
}

}  // namespace

void EventStream::OnEvent(void* user, int32_t kind, const char* json, size_t size) {
  auto* queue = static_cast<std::shared_ptr<Queue>*>(user);
  {
    std::lock_guard<std::mutex> lock((*queue)->mutex);
    (*queue)->events.emplace_back(kind, std::string(json, size));
    (*queue)->changed.notify_one();
  }
  if (kind != MLC_EVENT_CHUNK) Drop(user);
}

// With the queue's lock. False when there is none.
bool EventStream::Take(Event* event) {
  if (queue_->events.empty()) return false;
  *event = std::move(queue_->events.front());
  queue_->events.pop_front();
  return true;
}

// False when none has come for a while.
bool EventStream::Wait(Event* event) {
  std::unique_lock<std::mutex> lock(queue_->mutex);
  queue_->changed.wait_for(lock, kSignalInterval, [this] { return !queue_->events.empty(); });
  return Take(event);
}

py::tuple EventStream::Next() {
  if (ProcessId() != owner_) return py::make_tuple(int{MLC_EVENT_ERROR}, py::bytes(Forked()));
  Event event;
  bool found = false;
  {  // The core's thread holds this lock for moments, and never waits for the interpreter's.
    std::lock_guard<std::mutex> lock(queue_->mutex);
    found = Take(&event);
  }
  while (!found) {
    {
      WithoutLock unlocked;
      found = Wait(&event);
    }
    if (!found && PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  return py::make_tuple(event.first, py::bytes(event.second));
}

}  // namespace mlc
