// A time line of the engine's last events, in Chrome's trace format.
//
// One lane shows the engine's steps. Each choice of a request has a lane of its own. It shows the
// time in the queue, the chunks of the prompt, the decodes, the preemptions and the end. Open the
// JSON in ui.perfetto.dev or chrome://tracing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/step.h"

namespace mlc {

class Trace {
 public:
  explicit Trace(size_t capacity);  // how many events are kept: the newest ones

  // The engine calls these when something happens. Trace takes the time.
  void Admitted(const Sequence& sequence);
  // Call it after num_computed counts the rows of the items.
  void Stepped(const std::vector<StepItem>& items, Clock::time_point begin, Clock::time_point end);
  void Finished(const RequestState& request, const Status& status);
  void Clear();

  // {"traceEvents": [...], "displayTimeUnit": "ms", "otherData": {"dropped_events"}}
  std::string ToJson() const;

 private:
  struct Event {
    const char* name;  // static
    Clock::time_point begin;
    Clock::duration duration;  // negative: an event without duration
    RequestId request;         // 0: the engine's lane
    int choice;
    int64_t rows, sequences;  // -1: not shown
    const char* status;       // a static string; nullptr: not shown
  };
  void Add(const Event& event);
  std::vector<const Event*> InOrder() const;

  Clock::time_point origin_ = Clock::now();
  size_t capacity_, num_added_ = 0;
  std::vector<Event> ring_;
};

}  // namespace mlc
