// What the engine did and when, for a time line: the last events, in Chrome's trace format.
//
// One lane shows the engine's steps; each choice of a request has a lane of its own with its time
// in the queue, its chunks of prompt, its decodes, its preemptions and its end. Open the JSON in
// ui.perfetto.dev or chrome://tracing.
#ifndef MLC_ENGINE_TRACE_H_
#define MLC_ENGINE_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/step.h"

namespace mlc {

class Trace {
 public:
  explicit Trace(size_t capacity);  // events that are kept: the newest

  // The engine says what happens; times are its own.
  void Admitted(const Sequence& sequence);
  // After the rows of the items were counted as computed.
  void Stepped(const std::vector<StepItem>& items, Clock::time_point begin, Clock::time_point end);
  void Finished(const RequestState& request, const Status& status);
  void Clear();

  // {"traceEvents": [...], "displayTimeUnit": "ms", "otherData": {"dropped_events"}}
  std::string ToJson() const;

 private:
  struct Event {
    const char* name;  // static
    Clock::time_point begin;
    Clock::duration duration;  // negative: an instant
    RequestId request;         // 0: the engine's lane
    int choice;
    int64_t rows, sequences;  // -1: not said
    const char* status;       // static; nullptr: not said
  };
  void Add(const Event& event);
  std::vector<const Event*> InOrder() const;

  Clock::time_point origin_ = Clock::now();
  size_t capacity_, num_added_ = 0;
  std::vector<Event> ring_;
};

}  // namespace mlc

#endif  // MLC_ENGINE_TRACE_H_
