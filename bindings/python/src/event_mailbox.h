// The events of many requests, for one event loop of Python. The core's threads put them here
// without the interpreter's lock and wake the loop once for all that wait. So only one thread runs
// Python, and no event costs a hand-over of the lock.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mlc {

class EventMailbox {
 public:
  // Kinds of events beside the core's: what became of a submission. The text of the first is the
  // request's id, that of the second the error's JSON; no event of the request follows that.
  static constexpr int32_t kSubmitted = -1, kRefused = -2;

  EventMailbox();

  // What the loop watches: it is readable while events wait. -1 where a loop cannot watch it.
  int file_descriptor() const;
  // `wake` is called instead, on any thread, when events begin to wait.
  void WakeBy(pybind11::object wake);
  // The events that wait, in order: (number, kind, JSON).
  pybind11::list Take();

  // A way into the mailbox for the events of the request with this number. It may outlive the
  // mailbox.
  class Slot {
   public:
    void Put(int32_t kind, std::string json) const;

   private:
    friend class EventMailbox;
    struct Box;
    Slot(std::shared_ptr<Box> box, uint64_t number) : box_(std::move(box)), number_(number) {}
    std::shared_ptr<Box> box_;
    uint64_t number_;
  };
  Slot SlotOf(uint64_t number) const { return Slot(box_, number); }

  // An mlc_event_callback. Its `user` is a new Slot, which is freed after the last event; if the
  // request is refused, no event comes, and the caller frees it.
  static void OnEvent(void* user, int32_t kind, const char* json, size_t size);

 private:
  std::shared_ptr<Slot::Box> box_;
};

}  // namespace mlc
