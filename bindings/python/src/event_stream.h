// A request's events, kept until Python takes them. The core's thread puts them here without the
// interpreter's lock, so that a stream costs no hand-over of that lock for each chunk.
#pragma once

#include <pybind11/pybind11.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "process_id.h"

namespace mlc {

class EventStream {
 public:
  EventStream() : queue_(std::make_shared<Queue>()) {}

  // The next event as (kind, JSON bytes); waits for it without the interpreter's lock. Nothing
  // follows the last event, which the caller knows by its kind. Ctrl-C is raised here. In a forked
  // child it is an error event: the others go to the parent, and the lock may be held for ever.
  pybind11::tuple Next();

  // An mlc_event_callback and its `user`, which is freed after the last event; the caller frees it
  // by Drop when the request is refused, for then no event comes.
  static void OnEvent(void* user, int32_t kind, const char* json, size_t size);
  void* NewUser() const { return new std::shared_ptr<Queue>(queue_); }
  static void Drop(void* user) { delete static_cast<std::shared_ptr<Queue>*>(user); }

 private:
  using Event = std::pair<int32_t, std::string>;
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Event> events;
  };
  bool Take(Event* event);
  bool Wait(Event* event);

  int owner_ = ProcessId();
  std::shared_ptr<Queue> queue_;  // the core's thread may outlive this object
};

}  // namespace mlc
